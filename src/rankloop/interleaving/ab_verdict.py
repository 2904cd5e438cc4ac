"""The verdict of an A/B experiment: one value per page in two arms, with people as the units."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Bools, Floats, Ints
from rankloop.interleaving._outcome import Outcome, error_rate
from rankloop.interleaving.sample_ratio import SampleRatio, sample_ratio
from rankloop.interleaving.sequential.boundary import LEAST_PEOPLE, Course, mixture, planned_people
from rankloop.interleaving.sequential.clock import counted_information, part_of_plan
from rankloop.interleaving.sequential.covariate import adjusted
from rankloop.interleaving.sequential.people import People, Totals, first_pages, missing, person_codes, plain
from rankloop.interleaving.sequential.renewal import renewal

__all__ = ["ABVerdict", "ab_verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ABVerdict(Outcome):
    """The difference of two arms, in the mean over people of each person's mean; valid at every look.

    `means` are the arms' means over people, `page_means` those over pages, which few heavy people can
    decide and which therefore have no winner. `people` are those who count, `dropped` those seen in both
    arms. `stop` is the number of pages after which the winner was named; the first winner stays, unless
    people were not divided as intended (`ratio`), or those dropped did not come from the arms as intended
    (`left`, None if nobody was), so that the arms are not alike without them: this is reported in place of
    a winner.
    """

    pages: tuple[int, int]
    people: tuple[int, int]
    dropped: int
    effective_people: float
    means: tuple[float, float]
    page_means: tuple[float, float]
    page_difference: float
    planned: int | None
    stop: int | None
    ratio: SampleRatio
    left: SampleRatio | None

    @property
    def reason(self) -> str:
        """Why there is no winner, or when it was named."""
        if self.ratio.mismatch:
            return f"people were not divided as intended ({self.ratio}), so there is no verdict"
        if self.left is not None and self.left.mismatch:
            return (
                f"of the people seen in both arms {self.left.share:.1%} began in the first, "
                f"{self.left.intended:.1%} intended: one arm loses more of them, so there is no verdict"
            )
        if self.stop is not None:
            return self.decided(self.stop)
        if self.effective_people < LEAST_PEOPLE:
            return f"{LEAST_PEOPLE} effective people are needed, there are {self.effective_people:.0f}"
        if self.planned is not None and sum(self.people) < self.planned:
            return f"undecided, {self.planned - sum(self.people):,} of {self.planned:,} people are to come"
        return "no difference is shown"

    def __str__(self) -> str:
        both = f" ({self.dropped:,} seen in both arms are left out)" if self.dropped else ""
        return (
            f"{self.first} against {self.second}: {self.means[0]:.4f} and {self.means[1]:.4f} "
            f"over {self.people[0]:,} and {self.people[1]:,} people{both}, "
            f"difference {self.difference:+.4f} [{self.low:+.4f}, {self.high:+.4f}]; "
            f"{f'{self.winner} is better, ' if self.winner else ''}{self.reason}"
        )

    def to_dict(self) -> dict[str, Any]:
        values = Outcome.to_dict(self)
        left = None if self.left is None else self.left.to_dict()
        return {**values, "ratio": self.ratio.to_dict(), "left": left, "reason": self.reason}


def ab_verdict(
    values: ArrayLike,
    arms: Sequence[Any],
    users: Sequence[Any],
    *,
    confidence: float = 0.95,
    planned: int | None = None,
    before: ArrayLike | None = None,
    share: float = 0.5,
    bounds: tuple[float, float] = (0.0, 1.0),
    names: tuple[Any, Any] | None = None,
) -> ABVerdict:
    """Compare two arms by the value, arm and person of each page, in order of time; for any number of looks.

    A person counts once, by the mean of the person's pages so far. Without `planned` the experiment may run
    for ever. With `planned`, the number of people fixed before the start, it decides sooner near that
    number, and pages after the arrival of the last planned person do not count. `before` has, page by page,
    what its person did before the experiment (say the share of pages with a click; NaN where unknown): it
    makes the interval narrower. `share` is the part of people meant for the first arm, `bounds` the least
    and largest possible value, and `names` the arms in the order of the difference, by default sorted. While
    one arm has no people the difference is NaN.

    There is no winner below 100 effective people, 4 a b / (a + b) with a and b people in the arms. The
    variance is the largest of three (arms pooled; with one more person at either bound in each arm; arms
    apart), because arms of few people or without clicks show too small a one. `benchmarks/nulls.py` has the
    false alarms and the power.

    >>> clicked, arms = [1, 1, 1, 0] * 100, ["new", "new", "old", "old"] * 100
    >>> print(ab_verdict(clicked, arms, range(400)))
    new against old: 1.0000 and 0.5000 over 200 and 200 people, difference +0.5000 [...]; new is better, ...
    """
    table, side, first, second = _checked(values, arms, names, bounds)
    least, bounds = bounds[0], (0.0, bounds[1] - bounds[0])  # sums of squares keep their digits near 0
    code = person_codes(users, len(table))
    keep, leaves = _stay(code, side)
    if planned is not None:
        keep &= _until(code, planned)
        planned = int(planned)
    people = People(table[keep] - least, code[keep], leaves[keep])
    began = side[keep][people.first_page]  # the arm of each person's first page
    sides = began.astype(np.float64), (~began).astype(np.float64)
    if before is None:
        arm_a, arm_b, taken = people.means(sides[0]), people.means(sides[1]), None
    else:
        arm_a, arm_b, taken = adjusted(people, _known_before(before, len(table))[keep], sides)
    course = _course(arm_a, arm_b, people, taken, bounds, planned, error_rate(confidence))
    gone = leaves[keep]
    ratio = sample_ratio(began[people.first], share=share)
    left = sample_ratio(began[gone], share=share) if gone.any() else None
    refused = ratio.mismatch or (left is not None and left.mismatch)
    winner = None if refused else (None, str(first), str(second))[course.sign]
    a, b = float(arm_a.count[-1]), float(arm_b.count[-1])
    mean_a, mean_b = (least + people.mean_of(one) if one.any() else np.nan for one in sides)
    page_a, page_b = (float(table[one].mean()) if one.any() else np.nan for one in (side, ~side))
    return ABVerdict(
        first=str(first),
        second=str(second),
        winner=winner,
        difference=float(course.differences[-1]) if a and b else np.nan,
        low=float(course.lows[-1]),
        high=float(course.highs[-1]),
        p_value=float(course.p_values[-1]),
        pages=(int(side.sum()), int((~side).sum())),
        people=(int(a), int(b)),
        dropped=int(leaves.sum()),
        effective_people=4 * a * b / max(a + b, 1.0),
        means=(mean_a, mean_b),
        page_means=(page_a, page_b),
        page_difference=page_a - page_b,
        planned=planned,
        stop=int(np.flatnonzero(keep)[course.stop - 1]) + 1 if winner and course.stop else None,
        ratio=ratio,
        left=left,
    )


def _course(
    a: Totals,
    b: Totals,
    people: People,
    taken: tuple[Floats, Floats] | None,
    bounds: tuple[float, float],
    planned: int | None,
    error: float,
) -> Course:
    """The difference with its interval after every page."""
    count_a, count_b = np.maximum(a.count, 1), np.maximum(b.count, 1)
    everybody = a + b
    together = everybody.variance() * (1 / count_a + 1 / count_b)
    apart = a.variance() / count_a + b.variance() / count_b
    more = a.variance(*bounds) / (count_a + 2) + b.variance(*bounds) / (count_b + 2)
    variance = np.maximum(np.maximum(together, apart), more)
    difference = np.where((a.count > 0) & (b.count > 0), a.mean() - b.mean(), 0.0)
    effective = 4 * a.count * b.count / np.maximum(everybody.count, 1)
    ready = effective >= LEAST_PEOPLE
    largest = np.full(len(difference), bounds[1] - bounds[0])
    moved = renewal(people, ready, *bounds, taken)
    firsts = people.firsts()
    if planned is not None:
        part, excess = part_of_plan(everybody.count, planned, firsts.count, moved, ready)
        return planned_people(difference, variance, part, excess, ready, error, largest)
    information = 4 * firsts.variance(*bounds) / variance
    counted = counted_information(information, moved, ready)
    return mixture(difference, variance, information, counted, ready, error, largest)


def _checked(
    values: ArrayLike, arms: Sequence[Any], names: tuple[Any, Any] | None, bounds: tuple[float, float]
) -> tuple[Floats, Bools, Any, Any]:
    """The values, whether each page is of the first arm, and the names of the arms."""
    table = np.asarray(values, np.float64)
    if table.ndim != 1 or len(table) != len(arms):
        raise ValueError(
            f"values and arms need one entry per page, got shape {table.shape}, {len(arms)} arms"
        )
    if not len(table):
        raise ValueError("there are no pages to judge")
    low, high = bounds
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"bounds are the least and the largest possible value, got {low:g} and {high:g}")
    wrong = ~((table >= low) & (table <= high))
    if wrong.any():
        raise ValueError(
            f"values lie in [{low:g}, {high:g}], got {table[wrong][0]:g} on page {np.argmax(wrong) + 1}; "
            "give the least and the largest possible value as bounds=(least, largest)"
        )
    arms = plain(arms)
    kind = getattr(arms, "dtype", np.dtype(object)).kind
    present = np.unique(np.asarray(arms)).tolist() if kind in "biuU" else _distinct(arms)
    if names is None:
        if len(present) > 2:
            raise ValueError(f"an A/B verdict compares two arms, got {len(present)}: {present}")
        names = tuple([*present, "the other arm"][:2])
    elif not set(present) <= set(names):
        raise ValueError(f"the arms are {names[0]!r} and {names[1]!r}, got pages of {present}")
    is_first = np.asarray(arms) == names[0] if kind in "biuU" else [arm == names[0] for arm in arms]
    return table, np.array(is_first, np.bool_), *names


def _distinct(arms: Sequence[Any]) -> list[Any]:
    """The names of the arms, sorted; a page without one has no place."""
    every = list(dict.fromkeys(arms))
    if any(missing(one) for one in every):
        page = next(page for page, one in enumerate(arms, 1) if missing(one))
        raise ValueError(f"arms need the arm of each page, got {arms[page - 1]} on page {page}")
    try:
        return sorted(every)
    except TypeError:  # names of several kinds
        return sorted(every, key=str)


def _stay(code: Ints, side: Bools) -> tuple[Bools, Bools]:
    """Pages that count, up to the first in another arm than the person's first page; and those pages."""
    start = first_pages(code)
    other = side != side[start][code]
    switch = np.full(len(start), len(code))
    np.minimum.at(switch, code[other], np.flatnonzero(other))
    page = np.arange(len(code))
    return page <= switch[code], page == switch[code]


def _until(code: Ints, planned: int) -> Bools:
    """The pages up to the first page of the last planned person."""
    if planned != int(planned) or planned < LEAST_PEOPLE:
        raise ValueError(f"planned is a number of people, {LEAST_PEOPLE} or more, got {planned}")
    arrivals = np.sort(first_pages(code))
    last = arrivals[planned - 1] if len(arrivals) >= planned else len(code)
    return np.asarray(np.arange(len(code)) <= last)


def _known_before(before: ArrayLike, pages: int) -> Floats:
    table = np.asarray(before, np.float64)
    if table.shape != (pages,):
        raise ValueError(f"before needs one value per page ({pages}), got shape {table.shape}")
    return table
