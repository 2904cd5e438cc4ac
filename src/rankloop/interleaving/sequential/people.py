"""People as the units of a test: one number per person, the mean of the pages so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Bools, Floats, Ints

__all__ = ["People", "Totals", "first_pages", "person_codes"]


def person_codes(users: Sequence[Any] | None, pages: int) -> Ints:
    """One number per person, page by page; a page without a user (None) is a person of its own."""
    if users is None:
        return np.arange(pages)
    if len(users) != pages:
        raise ValueError(f"users needs one entry per page ({pages}), got {len(users)}")
    if isinstance(users, np.ndarray) and users.ndim == 1 and users.dtype.kind in "biu":
        return _dense(users)
    known: dict[Any, int] = {}
    keys = ((page,) if user is None else user for page, user in enumerate(users))
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def first_pages(code: Ints) -> Ints:
    """The first page of each person, by the numbers of `person_codes`."""
    first: Ints = np.empty(int(code.max()) + 1, np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]  # a person's earliest page is written last, and stays
    return first


def _dense(users: "np.ndarray[Any, Any]") -> Ints:
    """Whole numbers as 0, 1, 2 ... in their order; by a table where they lie close together."""
    low, high = (int(users.min()), int(users.max())) if len(users) else (0, 0)
    if high - low > 8 * len(users) or high >= 2**63:
        code: Ints = np.unique(users, return_inverse=True)[1]
        return code
    place = users.astype(np.int64) - low
    present = np.zeros(high - low + 1, np.int64)
    present[place] = 1
    return np.asarray((np.cumsum(present) - 1)[place])


@dataclass(frozen=True, eq=False, slots=True)
class Totals:
    """Count, sum and sum of squares of one number per person, after each page."""

    count: Floats
    total: Floats
    squares: Floats

    def mean(self) -> Floats:
        return np.asarray(self.total / np.maximum(self.count, 1))

    def variance(self, *extra: Floats | float) -> Floats:
        """The variance between people, with further people added at the values `extra`."""
        count = np.maximum(self.count + len(extra), 1)
        total = self.total + sum(extra)
        squares = self.squares + sum(value * value for value in extra)
        return np.asarray(np.maximum(squares - total * total / count, 0.0) / np.maximum(count - 1, 1))

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(self.count + other.count, self.total + other.total, self.squares + other.squares)


class People:
    """Pages in order of time, each of one person.

    `now` is the mean of the person's pages up to this one, `earlier` that of the pages before it (0 on the
    `first` page), and `first_page` the number of the person's first page. People leave on the pages
    `leaves`, and have no page after that.
    """

    def __init__(self, values: Floats, code: Ints, leaves: Bools | None = None) -> None:
        pages = len(values)
        order = np.argsort(code, kind="stable")
        new = np.ones(pages, np.bool_)
        new[1:] = code[order][1:] != code[order][:-1]
        start = np.flatnonzero(new)
        person = np.cumsum(new) - 1
        running = np.cumsum(values[order])
        before = np.concatenate([[0.0], running])[start][person]
        mean = (running - before) / (np.arange(pages) - start[person] + 1)
        earlier = np.concatenate([[0.0], mean[:-1]])
        earlier[new] = 0.0
        self.values = values
        self.first: Bools = np.empty(pages, np.bool_)
        self.first_page: Ints = np.empty(pages, np.int64)
        self.now, self.earlier = np.empty(pages), np.empty(pages)
        self.first[order], self.first_page[order] = new, order[start][person]
        self.now[order], self.earlier[order] = mean, earlier
        self.enters = self.first.astype(np.float64)
        if leaves is not None:
            self.now[leaves] = 0.0
            self.enters[leaves] = -1.0

    def means(self, weight: Floats | float = 1.0) -> Totals:
        """Totals of people's means so far; `weight` (0 or 1 per page, alike for a person) selects people."""
        return Totals(
            np.cumsum(weight * self.enters),
            np.cumsum(weight * (self.now - self.earlier)),
            np.cumsum(weight * (self.now**2 - self.earlier**2)),
        )

    def mean_of(self, weight: Floats) -> float:
        """The mean of people's means after the last page, of the people whose `weight` is 1."""
        return float(weight @ (self.now - self.earlier) / max(float(weight @ self.enters), 1.0))

    def firsts(self) -> Totals:
        """Totals of the values on people's first pages."""
        value = np.where(self.first, self.values, 0.0)
        return Totals(np.cumsum(self.first, dtype=np.float64), np.cumsum(value), np.cumsum(value**2))
