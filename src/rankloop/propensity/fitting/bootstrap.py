"""Intervals by bootstrap over queries: the estimator is solved again on reweighted sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from rankloop._arrays import Array, Floats, Ints
from rankloop.data.shards.shard_of import shard_of
from rankloop.propensity.propensity import Propensity

__all__ = [
    "DRAWS",
    "Grouping",
    "HashedGroups",
    "RandomGroups",
    "bootstrapped",
    "check_queries",
    "grouped",
    "weights_of",
    "with_draws",
]

DRAWS = 1000
GROUPS = 1000  # more queries than this are pooled at random: the spread of sums is the same
NUMBERS = 2_000_000  # held at once for the resamples; ten times as many for the sums of the groups

Solve = Callable[[Floats], Floats]
# The query of each entry as an index into a table of ids, and how many sums a group will hold; gives the
# group of each entry, and the number of groups.
Grouping = Callable[[Array, Array, int], tuple[Ints, int]]


@dataclass(frozen=True)
class RandomGroups:
    """Groups of equally many queries, drawn with a seed: for a log that is in memory."""

    seed: int

    def __call__(self, query: Array, ids: Array, width: int = 1) -> tuple[Ints, int]:
        return grouped(query, self.seed, width) if len(query) else (np.zeros(0, np.int64), 1)


@dataclass(frozen=True)
class HashedGroups:
    """Groups by the hash of a query's id, the same in every shard of a log with `ranks` ranks."""

    ranks: int

    def __call__(self, query: Array, ids: Array, width: int = 1) -> tuple[Ints, int]:
        groups = _most_groups(3 * self.ranks * (self.ranks - 1) // 2)
        return shard_of(ids.tolist(), groups)[query], groups


def grouped(queries: Array, seed: int, width: int = 1) -> tuple[Ints, int]:
    """For each entry the group of its query, and how many groups there are; each will hold `width` sums."""
    present, code = np.unique(queries, return_inverse=True)
    check_queries(len(present))
    groups = min(len(present), _most_groups(width))
    place = np.random.default_rng(seed).permutation(len(present)) % groups
    return place[code], groups


def _most_groups(width: int) -> int:
    return min(GROUPS, max(10 * NUMBERS // max(width, 1), 50))


def check_queries(present: int) -> None:
    """An error where there are too few queries to draw from."""
    if present < 2:
        raise ValueError("intervals are by bootstrap over queries, so the log needs at least two queries")


def weights_of(resamples: int, groups: int, seed: int) -> Floats:
    """Bayesian bootstrap weights (Rubin, 1981): exponential, so that no draw loses all of a rank's clicks."""
    if resamples < 20:
        raise ValueError(f"an interval needs at least 20 bootstrap resamples, got {resamples}")
    weights = np.random.default_rng([seed, 1]).exponential(size=(resamples, groups))
    return np.asarray(weights / weights.mean(axis=1, keepdims=True))


def bootstrapped(sums: Floats, solve: Solve, *, resamples: int, seed: int, **about: Any) -> Propensity:
    """The curve of `sums` (one row per group of queries) and its interval.

    `solve` takes totals (one row per resample) and gives the logarithm of the curve for each.
    """
    flat = sums.reshape(len(sums), -1)
    shape = sums.shape[1:]
    curve = solve(flat.sum(axis=0).reshape(1, *shape))[0]
    mass = flat.sum(axis=1)
    units, spread = (float(one.sum() ** 2 / np.sum(one**2)) for one in (mass, mass**2))
    weights = weights_of(resamples, len(sums), seed)
    chunk = max(NUMBERS // flat.shape[1], 1)
    again = [solve((weights[i : i + chunk] @ flat).reshape(-1, *shape)) for i in range(0, resamples, chunk)]
    return with_draws(curve, np.concatenate(again), units=units, freedom=np.sqrt(units * spread), **about)


def with_draws(
    curve: Floats, resamples: Floats, *, units: float, freedom: float | None = None, **about: Any
) -> Propensity:
    """A curve with its interval from resamples of it, all as logarithms: normal in log space, Student's t.

    `units` is how many equally large queries (or people) would tell as much (Kish, 1965). `freedom` is lower
    where sizes differ, as the spread rests on the largest even more: the clicks of a person are partly alike,
    so it lies between the number for independent clicks and that for clicks that are all alike.
    """
    few = np.sqrt(max(units, 2.0) / (max(units, 2.0) - 1.0))  # a resample spreads that much less than a draw
    resamples = curve + few * (resamples - curve)
    covariance = np.atleast_2d(np.cov(resamples, rowvar=False))
    alike = units if freedom is None else freedom
    reach = float(student.ppf(0.975, max(alike, 2.0) - 1.0)) * np.sqrt(np.diag(covariance))
    return Propensity(
        np.exp(curve),
        np.exp(curve - reach),
        np.exp(curve + reach),
        log_covariance=covariance,
        resamples=np.exp(resamples),
        units=alike,
        **about,
    )
