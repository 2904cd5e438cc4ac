"""What the clicks on interleaved pages say, with its error."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Verdict", "sign_test", "verdict"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Wins, losses and ties of one ranker against another, and how sure that is.

    `preference` is the share of wins with ties as half, less a half: 0 means no difference.
    """

    first: str
    second: str
    wins: int
    losses: int
    ties: int
    preference: float
    low: float
    high: float
    p_value: float
    mean_credit: float
    clusters: int

    @property
    def winner(self) -> str | None:
        """The preferred ranker, if the interval leaves no difference out."""
        if self.low > 0:
            return self.first
        return self.second if self.high < 0 else None

    def to_dict(self) -> dict[str, Any]:
        shown = {name: getattr(self, name) for name in self.__slots__}
        return {**shown, "winner": self.winner}

    def __str__(self) -> str:
        said = f"{self.winner} is preferred" if self.winner else "no difference is shown"
        return (
            f"{self.first} against {self.second}: "
            f"{self.wins} wins, {self.losses} losses, {self.ties} ties; preference {self.preference:+.3f} "
            f"[{self.low:+.3f}, {self.high:+.3f}], p = {self.p_value:.3g}: {said}"
        )


def verdict(
    credits: ArrayLike,
    *,
    users: Sequence[Any] | None = None,
    names: tuple[str, str] = ("A", "B"),
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Verdict:
    """The verdict over pages: `credits` has one row per page and one column for each of two rankers.

    Pages of one user are alike, so with `users` the interval resamples users, and each user has one vote in
    the sign test. The table of Joachims et al. (2017), Propensity SVM-Rank against production:

    >>> table = [[1, 0]] * 87 + [[0, 1]] * 48 + [[0, 0]] * 83
    >>> print(verdict(table, names=("Propensity", "Prod")))
    Propensity against Prod: 87 wins, 48 losses, 83 ties;
    preference +0.089 [+0.041, +0.140], p = 0.000999: Propensity is preferred
    """
    table = _two_columns(credits)
    difference = table[:, 0] - table[:, 1]
    outcome = np.sign(difference)
    code = _clusters(users, len(table))
    total = np.bincount(code, outcome).astype(np.float64)
    pages = np.bincount(code)
    random = np.random.default_rng(seed)
    draws = _resampled_means(total, pages, resamples, random) / 2
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Verdict(
        first=names[0],
        second=names[1],
        wins=int((outcome > 0).sum()),
        losses=int((outcome < 0).sum()),
        ties=int((outcome == 0).sum()),
        preference=float(outcome.mean() / 2),
        low=float(low),
        high=float(high),
        p_value=sign_test(int((total > 0).sum()), int((total < 0).sum())),
        mean_credit=float(difference.mean()),
        clusters=len(pages),
    )


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact p-value that wins and losses are equally likely; ties say nothing.

    >>> round(sign_test(8, 2), 4)
    0.1094
    """
    from scipy.special import bdtr

    n = wins + losses
    return min(1.0, 2.0 * float(bdtr(min(wins, losses), n, 0.5))) if n else 1.0


def _two_columns(credits: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(credits, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            f"credits need one row per page and two columns, got shape {table.shape}; "
            "of many rankers, compare two columns at a time"
        )
    if not len(table):
        raise ValueError("there are no pages to judge")
    if not np.isfinite(table).all():
        raise ValueError(f"credits must be finite, got {table[~np.isfinite(table)][0]}")
    return table


def _clusters(users: Sequence[Any] | None, pages: int) -> NDArray[np.int64]:
    if users is None:
        return np.arange(pages)
    if len(users) != pages:
        raise ValueError(f"users needs one entry per page ({pages}), got {len(users)}")
    code: NDArray[np.int64] = np.unique(np.asarray(users), return_inverse=True)[1]
    return code


def _resampled_means(
    total: NDArray[np.float64], pages: NDArray[np.int64], resamples: int, random: np.random.Generator
) -> NDArray[np.float64]:
    """Means over pages when whole clusters are drawn again; alike clusters are drawn by their number."""
    kinds, count = np.unique(np.column_stack([total, pages]), axis=0, return_counts=True)
    drawn = random.multinomial(int(count.sum()), count / count.sum(), size=resamples)
    means: NDArray[np.float64] = (drawn @ kinds[:, 0]) / (drawn @ kinds[:, 1])
    return means
