"""A verdict that may be looked at every day."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Sequential", "always_valid"]


@dataclass(frozen=True, slots=True)
class Sequential:
    """After each page: the p-value and the interval of the share of wins, valid at every look at once."""

    p_value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    stop: int | None
    """The first number of pages at which the error rate allows a verdict; None if not yet."""


def always_valid(
    outcomes: ArrayLike, *, users: Sequence[Any] | None = None, error: float = 0.05, prior: float = 25.0
) -> Sequential:
    r"""A sequential test of wins (1), losses (-1) and ties (0) that holds its error rate at every look.

    Mixture of the binomial likelihood ratio over a Beta(prior, prior) share of wins (Robbins, 1970): under
    no difference

    .. math:: M_n = 2^{w + l} B(a + w, a + l) / B(a, a), \quad a = \mathrm{prior}

    is a non-negative martingale with mean 1, so it reaches 1 / error with probability at most `error`,
    ever. A large `prior` expects small differences. Pages must be independent, and those of one person are
    not: with `users` only the first decided page of each counts, which later pages cannot change.

    >>> result = always_valid([1] * 40)
    >>> result.stop
    21
    """
    signs = np.sign(np.asarray(outcomes, dtype=np.float64).reshape(-1))
    if np.isnan(signs).any():
        raise ValueError("outcomes must be numbers: above 0 a win, below 0 a loss, 0 a tie")
    if not 0 < error < 1 or not prior > 0:
        raise ValueError(f"error lies in (0, 1) and prior above 0, got {error} and {prior}")
    if users is not None:
        signs = _first_decided(signs, users)
    from scipy.special import betaln

    wins, losses = np.cumsum(signs > 0, dtype=np.int64), np.cumsum(signs < 0, dtype=np.int64)
    mixture = betaln(prior + wins, prior + losses) - betaln(prior, prior)
    evidence = np.maximum.accumulate(mixture + (wins + losses) * np.log(2.0)) if len(signs) else mixture
    p_value = np.minimum(1.0, np.exp(-evidence))
    low, high = _interval(wins, losses, mixture, np.log(1.0 / error))
    reached = np.flatnonzero(p_value <= error)
    return Sequential(p_value, low, high, int(reached[0]) + 1 if len(reached) else None)


def _first_decided(signs: NDArray[np.float64], users: Sequence[Any]) -> NDArray[np.float64]:
    """The outcomes with a tie in place of all but the first win or loss of each user."""
    if len(users) != len(signs):
        raise ValueError(f"users needs one entry per page ({len(signs)}), got {len(users)}")
    decided = np.flatnonzero(signs)
    first = {user: page for page, user in reversed([(page, users[page]) for page in decided.tolist()])}
    kept = np.zeros(len(signs))
    pages = list(first.values())
    kept[pages] = signs[pages]
    return kept


def _interval(
    wins: NDArray[np.int64], losses: NDArray[np.int64], mixture: NDArray[np.float64], limit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The shares p of wins that the martingale for p does not rule out, intersected over time."""

    def refuses(p: NDArray[np.float64]) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore"):
            likelihood = _xlogy(wins, p) + _xlogy(losses, 1 - p)
        refused: NDArray[np.bool_] = mixture - likelihood >= limit
        return refused

    total = np.maximum(wins + losses, 1)
    centre = np.where(wins + losses > 0, wins / total, 0.5)
    ends = []
    for edge in (0.0, 1.0):
        outside, inside = np.full(len(wins), edge), centre.copy()
        for _ in range(50):
            middle = (outside + inside) / 2
            out = refuses(middle)
            outside, inside = np.where(out, middle, outside), np.where(out, inside, middle)
        ends.append(np.where(refuses(np.full(len(wins), edge)), inside, edge))
    return np.maximum.accumulate(ends[0]), np.minimum.accumulate(ends[1])


def _xlogy(count: NDArray[np.int64], p: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import xlogy

    value: NDArray[np.float64] = xlogy(count, p)
    return value
