"""A verdict on interleaved pages that holds however often one looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Bools, Floats, Ints
from rankloop.interleaving._outcome import Outcome, error_rate
from rankloop.interleaving.verdict import two_columns

__all__ = ["Sequential", "always_valid"]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Sequential(Outcome):
    """The verdict after the last page, and its course page by page; valid at all looks at once.

    `difference` is the share of wins among decided pages minus 1/2. `stop` is the first number of pages after
    which there is a winner, None if there is none yet.
    """

    stop: int | None
    differences: Floats
    lows: Floats
    highs: Floats
    p_values: Floats


def always_valid(
    credits: ArrayLike,
    *,
    users: Sequence[Any] | None = None,
    confidence: float = 0.95,
    names: tuple[str, str] = ("A", "B"),
    prior: float = 25.0,
) -> Sequential:
    r"""A sequential test on `credits` (one row per page, one column for each of two rankers), for any look.

    Mixture of the binomial likelihood ratio over a Beta(prior, prior) share of wins (Robbins, 1970): under
    no difference, with w wins and l losses so far,

    .. math:: M_n = 2^{w + l} B(a + w, a + l) / B(a, a), \quad a = \mathrm{prior}

    is a non-negative martingale with mean 1, so the probability that it ever reaches 1 / (1 - confidence) is
    at most 1 - confidence. A large `prior` expects small differences. Pages must be independent, and those
    of one user are not: with `users` only the first decided page of each counts.

    >>> result = always_valid([[1, 0]] * 40)
    >>> result.stop, result.winner
    (21, 'A')
    """
    table = two_columns(credits)
    if not len(table):
        raise ValueError("there are no pages to judge")
    if not prior > 0:
        raise ValueError(f"prior must be above 0, got {prior}")
    signs = np.sign(table[:, 0] - table[:, 1])
    if users is not None:
        signs = _first_decided(signs, users)
    from scipy.special import betaln

    error = error_rate(confidence)
    wins, losses = np.cumsum(signs > 0, dtype=np.int64), np.cumsum(signs < 0, dtype=np.int64)
    decided = wins + losses
    share = np.where(decided > 0, wins / np.maximum(decided, 1), 0.5)
    mixture = betaln(prior + wins, prior + losses) - betaln(prior, prior)
    evidence = np.maximum.accumulate(mixture + decided * np.log(2.0))
    p_values = np.minimum(1.0, np.exp(-evidence))
    low, high = _interval(wins, losses, share, mixture, np.log(1.0 / error))
    reached = np.flatnonzero(p_values <= error)
    return Sequential(
        first=names[0],
        second=names[1],
        difference=float(share[-1] - 0.5),
        low=float(low[-1] - 0.5),
        high=float(high[-1] - 0.5),
        p_value=float(p_values[-1]),
        stop=int(reached[0]) + 1 if len(reached) else None,
        differences=share - 0.5,
        lows=low - 0.5,
        highs=high - 0.5,
        p_values=p_values,
    )


def _first_decided(signs: Floats, users: Sequence[Any]) -> Floats:
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
    wins: Ints, losses: Ints, share: Floats, mixture: Floats, limit: float
) -> tuple[Floats, Floats]:
    """The shares p of wins that the martingale for p does not rule out, intersected over time."""
    from scipy.special import xlogy

    def refuses(p: Floats) -> Bools:
        with np.errstate(divide="ignore"):
            likelihood = xlogy(wins, p) + xlogy(losses, 1 - p)
        refused: Bools = mixture - likelihood >= limit
        return refused

    ends = []
    for edge in (0.0, 1.0):
        outside, inside = np.full(len(wins), edge), share.copy()
        for _ in range(50):
            middle = (outside + inside) / 2
            out = refuses(middle)
            outside, inside = np.where(out, middle, outside), np.where(out, inside, middle)
        ends.append(np.where(refuses(np.full(len(wins), edge)), inside, edge))
    return np.maximum.accumulate(ends[0]), np.minimum.accumulate(ends[1])
