"""Ranks, their discounts, and the DCG of the best order of a list."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import over_lists
from rankloop.losses.kernels.gain import gains
from rankloop.losses.kernels.lists import Lists, list_sums
from rankloop.losses.kernels.math import fast, inner
from rankloop.losses.kernels.order import rank_lists

__all__ = ["discounts", "grade_gains", "ideal_dcg", "ideal_of_grades", "ranks"]

_MAX_GRADE = 31  # up to here the best order comes from counting grades, beyond from sorting

Row = NDArray[np.float64]
Single = NDArray[np.float32]


def ranks(offsets: NDArray[np.int64]) -> Row:
    """1, 2, 3, ... in each list."""
    lengths = np.diff(offsets)
    return np.arange(1.0, offsets[-1] + 1.0) - np.repeat(offsets[:-1], lengths)


def discounts(rank: Row) -> Row:
    """1 / log2(1 + rank), for ranks 1, 2, 3, ..."""
    longest = int(rank.max(initial=0.0))
    table: Row = 1.0 / np.log2(1.0 + np.arange(1, longest + 1))
    return table[rank.astype(np.int64) - 1]


def ideal_dcg(lists: Lists, gain: str | tuple[float, ...], truncation: int | None) -> Row:
    """The DCG of the best order of each list."""
    best, longest = np.empty(lists.n_lists), int(np.diff(lists.offsets).max(initial=0))
    table, discount = grade_gains(gain), discounts(np.arange(1.0, longest + 1.0))
    top = longest if truncation is None else truncation

    def work(first: int, last: int) -> None:
        _ideal_lists(first, last, lists.labels, lists.offsets, top, table, discount, best)

    over_lists(work, lists.offsets)
    return _sorted_ideal(lists, gain, truncation) if best.min(initial=0.0) < 0.0 else best


def grade_gains(gain: str | tuple[float, ...]) -> Row:
    """The gains of the grades 0, 1, 2, ..., as many as are counted."""
    grades = len(gain) if isinstance(gain, tuple) else _MAX_GRADE + 1
    return gains(np.arange(grades, dtype=np.float32), gain)


@inner
def ideal_of_grades(labels: Single, truncation: int, table: Row, discount: Row) -> float:
    """The DCG of the best order by counting grades; -1 where labels are not grades of the table."""
    high = np.float32(0.0)
    for k in range(labels.size):
        high = max(high, labels[k])
    if high >= table.size:
        return -1.0
    rank, ideal = 0, 0.0
    for grade in range(np.int64(high), -1, -1):
        count = _count_equal(labels, np.float32(grade))
        for k in range(min(rank, truncation), min(rank + count, truncation)):
            ideal += table[grade] * discount[k]
        rank += count
    return ideal if rank == labels.size else -1.0


@inner
def _count_equal(labels: Single, grade: np.float32) -> int:
    count = np.int32(0)
    for j in range(labels.size):
        count = np.int32(count + np.int32(labels[j] == grade))
    return int(count)


@fast
def _ideal_lists(
    first: int,
    last: int,
    labels: Single,
    offsets: NDArray[np.int64],
    truncation: int,
    table: Row,
    discount: Row,
    best: Row,
) -> None:
    for q in range(first, last):
        best[q] = ideal_of_grades(labels[offsets[q] : offsets[q + 1]], truncation, table, discount)


def _sorted_ideal(lists: Lists, gain: str | tuple[float, ...], truncation: int | None) -> Row:
    amounts, rank = gains(lists.labels, gain), ranks(lists.offsets)
    best = amounts[rank_lists(amounts, lists.offsets)] * discounts(rank)
    if truncation is not None:
        best[rank > truncation] = 0.0
    return list_sums(best, lists.offsets)
