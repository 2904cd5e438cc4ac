"""Which of two rankers the clicks on interleaved pages prefer, for one look at the end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.interleaving._outcome import Outcome, error_rate
from rankloop.interleaving.sequential.people import person_codes

__all__ = ["Verdict", "credit_gaps", "verdict"]

WIDER = 0.9  # part of the interval that the credits make, below which the verdict says that it is wider


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Outcome):
    """The mean difference of credit over people, with pages won, lost and tied as a description.

    Credit is fair: with random clicks its mean is the same for both rankers. The number of pages won is
    not, so that wins and losses say how the credit came about, never who won. `own_width` is how wide the
    credits alone would make the interval, as a part of what it is: rare large credits may be missing.
    """

    wins: int
    losses: int
    ties: int
    people: int
    own_width: float

    def __str__(self) -> str:
        conclusion = f"{self.winner} is preferred" if self.winner else "no difference is shown"
        if self.own_width < WIDER:
            conclusion += (
                " (the interval allows for rare large credits that were not seen yet; without them it would "
                f"be {self.own_width:.0%} as wide)"
            )
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
) -> Verdict:
    """The verdict over pages: `credits` has one row per page and one column for each of two rankers.

    A t-test of the mean difference of credit, for one look at a time chosen beforehand. Pages of one person
    are not independent: with `users` each person counts once, by the mean over the person's pages. The
    variance is at least the one with two more people, one at the largest credit for each ranker (1, or the
    largest seen): rare large credits would else be missing from it. The table of Joachims et al. (2017),
    Propensity SVM-Rank against production:

    >>> table = [[1, 0]] * 87 + [[0, 1]] * 48 + [[0, 0]] * 83
    >>> print(verdict(table, names=("Propensity", "Prod")))
    Propensity against Prod: 87 wins, 48 losses, 83 ties;
    difference +0.179 [+0.076, +0.281], p = 0.0007: Propensity is preferred
    """
    from scipy.special import stdtr, stdtrit

    gap = credit_gaps(credits)
    code = person_codes(users, len(gap))
    pages = np.bincount(code)
    mean = np.bincount(code, gap) / pages
    people = len(mean)
    largest = max(1.0, float(np.abs(gap).max()))
    extended = np.concatenate([mean, [-largest, largest]])
    plain = mean.var(ddof=1) / people if people > 1 else 0.0
    cautious = max(plain, extended.var(ddof=1) / (people + 2))
    error = float(np.sqrt(cautious))
    difference, freedom = float(mean.mean()), max(people - 1, 1)
    half = float(stdtrit(freedom, 1 - error_rate(confidence) / 2)) * error
    winner = None if abs(difference) <= half else names[0] if difference > 0 else names[1]
    return Verdict(
        first=names[0],
        second=names[1],
        winner=winner,
        wins=int((gap > 0).sum()),
        losses=int((gap < 0).sum()),
        ties=int((gap == 0).sum()),
        difference=difference,
        low=max(difference - half, -largest),
        high=min(difference + half, largest),
        p_value=float(2 * stdtr(freedom, -abs(difference) / error)),
        people=people,
        own_width=float(np.sqrt(plain / cautious)),
    )


def credit_gaps(credits: ArrayLike) -> Floats:
    """The credit of the first of two rankers minus that of the second, page by page, checked."""
    table = np.asarray(credits, dtype=np.float64)
    if not len(table):
        raise ValueError("there are no pages to judge")
    if table.ndim != 2 or table.shape[1] != 2:
        advice = "of many rankers, compare two columns at a time"
        if table.ndim == 2 and len(table) == 2:
            advice = "two columns become rows by numpy.column_stack"
        raise ValueError(f"credits need one row per page and two columns, got shape {table.shape}; {advice}")
    if not np.isfinite(table).all():
        raise ValueError(f"credits must be finite, got {table[~np.isfinite(table)][0]}")
    gaps: Floats = table[:, 0] - table[:, 1]
    return gaps
