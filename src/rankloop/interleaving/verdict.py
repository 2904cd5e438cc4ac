"""Which of two rankers the clicks on interleaved pages prefer, for one look at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop.interleaving._outcome import Outcome, error_rate
from rankloop.interleaving.sign_test import sign_test

__all__ = ["Verdict", "two_columns", "user_codes", "user_means", "verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Outcome):
    """Wins, losses and ties of one ranker against another.

    `difference` is the share of wins, with ties as half a win, minus 1/2.
    """

    wins: int
    losses: int
    ties: int
    mean_credit: float
    clusters: int

    def __str__(self) -> str:
        conclusion = f"{self.winner} is preferred" if self.winner else "no difference is shown"
        return (
            f"{self.first} against {self.second}: "
            f"{self.wins} wins, {self.losses} losses, {self.ties} ties; difference {self.difference:+.3f} "
            f"[{self.low:+.3f}, {self.high:+.3f}], p = {self.p_value:.3g}: {conclusion}"
        )


def verdict(
    credits: ArrayLike,
    *,
    users: Sequence[Any] | None = None,
    confidence: float = 0.95,
    names: tuple[str, str] = ("A", "B"),
    resamples: int = 2000,
    seed: int = 0,
) -> Verdict:
    """The verdict over pages: `credits` has one row per page and one column for each of two rankers.

    Pages of one user are not independent: with `users` the bootstrap interval resamples users, and each user
    has one vote in the sign test. The table of Joachims et al. (2017), Propensity SVM-Rank against
    production:

    >>> table = [[1, 0]] * 87 + [[0, 1]] * 48 + [[0, 0]] * 83
    >>> print(verdict(table, names=("Propensity", "Prod")))
    Propensity against Prod: 87 wins, 48 losses, 83 ties;
    difference +0.089 [+0.041, +0.140], p = 0.000999: Propensity is preferred
    """
    table = two_columns(credits)
    if not len(table):
        raise ValueError("there are no pages to judge")
    gap = table[:, 0] - table[:, 1]
    outcome = np.sign(gap)
    code = user_codes(users, len(table))
    total = np.bincount(code, outcome).astype(np.float64)
    pages = np.bincount(code)
    means = user_means(total, pages, resamples, np.random.default_rng(seed)) / 2
    tail = error_rate(confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Verdict(
        first=names[0],
        second=names[1],
        wins=int((outcome > 0).sum()),
        losses=int((outcome < 0).sum()),
        ties=int((outcome == 0).sum()),
        difference=float(outcome.mean() / 2),
        low=float(low),
        high=float(high),
        p_value=sign_test(int((total > 0).sum()), int((total < 0).sum())),
        mean_credit=float(gap.mean()),
        clusters=len(pages),
    )


def two_columns(credits: ArrayLike) -> Floats:
    """The credits of two rankers, one row per page, checked."""
    table = np.asarray(credits, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"credits need one row per page and two columns, got shape {table.shape}; "
            "of many rankers, compare two columns at a time"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"credits must be finite, got {table[~np.isfinite(table)][0]}")
    return table


def user_codes(users: Sequence[Any] | None, pages: int) -> Ints:
    """One number per user, page by page; without users every page is its own."""
    if users is None:
        return np.arange(pages)
    if len(users) != pages:
        raise ValueError(f"users needs one entry per page ({pages}), got {len(users)}")
    code: Ints = np.unique(np.asarray(users), return_inverse=True)[1]
    return code


def user_means(total: Floats, pages: Ints, resamples: int, random: np.random.Generator) -> Floats:
    """Bootstrap means over pages, resampling users; users with equal totals and pages are drawn by count."""
    kinds, count = np.unique(np.column_stack([total, pages]), axis=0, return_counts=True)
    drawn = random.multinomial(int(count.sum()), count / count.sum(), size=resamples)
    means: Floats = (drawn @ kinds[:, 0]) / (drawn @ kinds[:, 1])
    return means
