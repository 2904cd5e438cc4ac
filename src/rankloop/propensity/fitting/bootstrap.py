"""Intervals by bootstrap over queries: the estimator is solved again on reweighted sums."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankloop.propensity.propensity import Propensity

__all__ = ["DRAWS", "bootstrapped", "grouped", "weights_of", "with_draws"]

DRAWS = 1000
GROUPS = 1000  # more queries than this are pooled at random: the spread of sums is the same
NUMBERS = 2_000_000  # held at once for the resamples; ten times as many for the sums of the groups

Solve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def grouped(queries: NDArray[Any], seed: int, width: int = 1) -> tuple[NDArray[np.int64], int]:
    """For each entry the group of its query, and how many groups there are; each will hold `width` sums."""
    present, code = np.unique(queries, return_inverse=True)
    if len(present) < 2:
        raise ValueError("intervals are by bootstrap over queries, so the log needs at least two queries")
    groups = min(len(present), GROUPS, max(10 * NUMBERS // width, 50))
    place = np.random.default_rng(seed).permutation(len(present)) % groups
    return place[code], groups


def weights_of(resamples: int, groups: int, seed: int) -> NDArray[np.float64]:
    """Bayesian bootstrap weights (Rubin, 1981): exponential, so that no draw loses all of a rank's clicks."""
    if resamples < 20:
        raise ValueError(f"an interval needs at least 20 bootstrap resamples, got {resamples}")
    weights = np.random.default_rng([seed, 1]).exponential(size=(resamples, groups))
    return np.asarray(weights / weights.mean(axis=1, keepdims=True))


def bootstrapped(
    sums: NDArray[np.float64], solve: Solve, *, resamples: int, seed: int, **about: Any
) -> Propensity:
    """The curve of `sums` (one row per group of queries) and its interval.

    `solve` takes totals (one row per draw) and gives the logarithm of the curve for each.
    """
    flat = sums.reshape(len(sums), -1)
    shape = sums.shape[1:]
    curve = solve(flat.sum(axis=0).reshape(1, *shape))[0]
    weights = weights_of(resamples, len(sums), seed)
    chunk = max(NUMBERS // flat.shape[1], 1)
    again = [solve((weights[i : i + chunk] @ flat).reshape(-1, *shape)) for i in range(0, resamples, chunk)]
    return with_draws(curve, np.concatenate(again), groups=len(sums), **about)


def with_draws(
    curve: NDArray[np.float64], resamples: NDArray[np.float64], *, groups: int, **about: Any
) -> Propensity:
    """The interval of a curve from resamples of it, all as logarithms: normal in log space, Student's t."""
    covariance = np.atleast_2d(np.cov(resamples, rowvar=False))
    reach = float(student.ppf(0.975, groups - 1)) * np.sqrt(np.diag(covariance))
    return Propensity(
        np.exp(curve),
        np.exp(curve - reach),
        np.exp(curve + reach),
        log_covariance=covariance,
        resamples=np.exp(resamples),
        **about,
    )
