"""People as the units of a test: one number per person, the mean of the pages so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop._jit import kernel

__all__ = ["People", "Totals", "first_pages", "missing", "person_codes", "plain"]


def person_codes(users: Sequence[Any] | None, pages: int) -> Ints:
    """One number per person, page by page; a page without a user (None, NaN) is a person of its own."""
    if users is None:
        return np.arange(pages)
    users = plain(users)
    if len(users) != pages:
        raise ValueError(f"users needs one entry per page ({pages}), got {len(users)}")
    kind = getattr(users, "dtype", np.dtype(object)).kind
    if kind in "biu" and np.ndim(users) == 1:
        return _dense(np.asarray(users))
    known: dict[Any, int] = {}
    keys = ((page,) if missing(user) else user for page, user in enumerate(users))
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


def plain(column: Any) -> Any:
    """A column of polars, Arrow or pandas as a list in which None is missing; arrays and lists as they are.

    >>> import polars as pl
    >>> plain(pl.Series(["ann", None]))
    ['ann', None]
    """
    kind = getattr(getattr(column, "dtype", None), "kind", "")
    if hasattr(column, "isna") and (kind not in "biu" or column.isna().any()):  # pandas
        return column.astype(object).where(column.notna(), None).tolist()
    if kind:
        return np.asarray(column)
    for name in ("to_pylist", "to_list"):  # Arrow, polars
        if hasattr(column, name):
            return getattr(column, name)()
    return column


def missing(value: Any) -> bool:
    """Whether this is nobody: None or NaN."""
    return value is None or (isinstance(value, float | np.floating) and bool(value != value))


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
        total = self.total + sum(extra) if extra else self.total
        squares = self.squares + sum(value * value for value in extra) if extra else self.squares
        spread = total * total
        spread /= count
        np.subtract(squares, spread, out=spread)
        count -= 1
        spread /= np.maximum(count, 1, out=count)
        return np.maximum(spread, 0.0, out=spread)

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(self.count + other.count, self.total + other.total, self.squares + other.squares)


class People:
    """Pages in order of time, each of one person.

    `code` numbers their people. `now` is the mean of the person's pages up to this one, `earlier` that of
    the pages before it (0 on the `first` page), and `first_page` the number of the person's first page.
    People leave on the pages `leaves`, and have no page after that.
    """

    def __init__(self, values: Floats, code: Ints, leaves: Bools | None = None) -> None:
        pages, people = len(values), int(code.max()) + 1 if len(code) else 0
        self.values, self.code = values, code
        self.first: Bools = np.empty(pages, np.bool_)
        self.first_page: Ints = np.empty(pages, np.int64)
        self.now, self.earlier = np.empty(pages), np.empty(pages)
        start = np.full(people, -1, np.int64)
        so_far = np.zeros((people, 2))
        means_so_far(values, code, start, so_far, self.first, self.first_page, self.now, self.earlier)
        self.enters = self.first.astype(np.float64)
        if leaves is not None:
            self.now[leaves] = 0.0
            self.enters[leaves] = -1.0

    def means(self, weight: Floats | float = 1.0) -> Totals:
        """Totals of people's means so far; `weight` (0 or 1 per page, alike for a person) selects people."""
        weights = np.broadcast_to(np.asarray(weight, np.float64), self.now.shape).copy()
        sums = np.empty((3, len(weights)))
        cumulate(weights, self.enters, self.now, self.earlier, sums)
        return Totals(*sums)

    def mean_of(self, weight: Floats) -> float:
        """The mean of people's means after the last page, of the people whose `weight` is 1."""
        return float(weight @ (self.now - self.earlier) / max(float(weight @ self.enters), 1.0))

    def firsts(self) -> Totals:
        """Totals of the values on people's first pages."""
        value = np.where(self.first, self.values, 0.0)
        return Totals(np.cumsum(self.first, dtype=np.float64), np.cumsum(value), np.cumsum(value**2))


@kernel
def means_so_far(
    values: Any, code: Any, start: Any, so_far: Any, first: Any, first_page: Any, now: Any, earlier: Any
) -> None:
    """Page by page the mean of its person with this page and before it; `so_far` has pages and their sum."""
    for page in range(len(code)):
        person = code[page]
        pages, total = so_far[person, 0], so_far[person, 1]
        first[page] = pages == 0
        if pages == 0:
            start[person] = page
        first_page[page] = start[person]
        earlier[page] = total / pages if pages > 0 else 0.0
        so_far[person, 0] = pages + 1
        so_far[person, 1] = total + values[page]
        now[page] = (total + values[page]) / (pages + 1)


@kernel
def cumulate(weight: Any, enters: Any, now: Any, earlier: Any, sums: Any) -> None:
    """After each page the number of people, the sum of their means and that of the squares."""
    count = total = squares = 0.0
    for page in range(len(weight)):
        count += weight[page] * enters[page]
        total += weight[page] * (now[page] - earlier[page])
        squares += weight[page] * (now[page] * now[page] - earlier[page] * earlier[page])
        sums[0, page], sums[1, page], sums[2, page] = count, total, squares
