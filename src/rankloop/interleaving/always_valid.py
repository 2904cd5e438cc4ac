"""A verdict on interleaved pages that holds however often one looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.interleaving._outcome import Outcome, error_rate
from rankloop.interleaving.sequential.boundary import LEAST_PEOPLE, mixture
from rankloop.interleaving.sequential.clock import counted_information
from rankloop.interleaving.sequential.people import People, person_codes
from rankloop.interleaving.sequential.renewal import renewal
from rankloop.interleaving.verdict import credit_gaps

__all__ = ["Sequential", "always_valid"]


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Sequential(Outcome):
    """The verdict after the last page and after each page before; valid at all looks at once.

    `stop` is the first number of pages after which there is a winner, None if there is none yet. The first
    winner stays, and so does the smallest p-value; the interval is that of the last page.
    """

    stop: int | None
    people: int
    differences: Floats
    lows: Floats
    highs: Floats
    p_values: Floats

    def __str__(self) -> str:
        if self.stop is not None:
            conclusion = f"{self.winner} is preferred, {self.decided(self.stop)}"
        elif self.people < LEAST_PEOPLE:
            conclusion = f"{LEAST_PEOPLE - self.people} more people are needed"
        else:
            conclusion = "undecided"
        return (
            f"{self.first} against {self.second}: difference {self.difference:+.3f} "
            f"[{self.low:+.3f}, {self.high:+.3f}] at any look, {self.people:,} people: {conclusion}"
        )


def always_valid(
    credits: ArrayLike,
    *,
    users: Sequence[Any] | None = None,
    confidence: float = 0.95,
    names: tuple[str, str] = ("A", "B"),
) -> Sequential:
    """A sequential test on `credits` (one row per page, one column for each of two rankers), for any look.

    Rows are in order of time. With `users` each person counts once, by the mean difference of credit over
    the person's pages so far; without, every page is a person. The interval is Robbins' normal mixture
    (`sequential.boundary.mixture`) with the variance between people, at least the one with two more people
    at the largest credit for each ranker (1, or the largest seen: credits that may be larger, and seldom are,
    have to be divided by the largest possible one). There is no winner below 100 people.
    `benchmarks/nulls.py` has its false alarms and power.

    >>> result = always_valid([[1, 0], [1, 0], [0, 1]] * 100)
    >>> print(result)
    A against B: difference +0.333 [+0.131, +0.535] at any look, 300 people:
    A is preferred, decided after 152 pages
    """
    gap = credit_gaps(credits)
    people = People(gap, person_codes(users, len(gap)))
    means, firsts = people.means(), people.firsts()
    largest = np.maximum(np.maximum.accumulate(np.abs(gap)), 1.0)
    count = means.count
    plain = np.where(count > 1, means.variance() / count, 0.0)
    variance = np.maximum(plain, means.variance(-largest, largest) / (count + 2))
    ready = count >= LEAST_PEOPLE
    information = firsts.variance(-largest, largest) / variance
    moved = renewal(people, ready, -largest, largest)
    found = mixture(
        means.mean(),
        variance,
        information,
        counted_information(information, moved, ready),
        ready,
        error_rate(confidence),
        largest,
    )
    return Sequential(
        first=names[0],
        second=names[1],
        winner=(None, names[0], names[1])[found.sign],
        difference=float(found.differences[-1]),
        low=float(found.lows[-1]),
        high=float(found.highs[-1]),
        p_value=float(found.p_values[-1]),
        stop=found.stop,
        people=int(count[-1]),
        differences=found.differences,
        lows=found.lows,
        highs=found.highs,
        p_values=found.p_values,
    )
