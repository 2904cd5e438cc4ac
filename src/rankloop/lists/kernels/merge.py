"""Sorting by merging: for scores that cannot be spread by value, and for labels."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, over_lists, part

__all__ = ["as_places", "merge_sort"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def as_places(scores: Floats, start: Places, size: Places, chosen: NDArray[np.bool_]) -> Floats:
    """The scores, those of the chosen lists replaced by 0, 1, 2, ... in the same order, ties kept.

    >>> as_places(np.array([5.0, 1e300, 5.0, -1.0]), np.array([0]), np.array([4]), np.array([True]))
    array([1., 2., 1., 0.])
    """
    made = scores.copy()
    longest = int(size.max(initial=0))

    def work(first: int, last: int) -> None:
        room = np.empty((2, longest)), np.empty((2, longest), np.int64)
        _as_places(made, start, size, chosen, room[0][0], room[1][0], room[0][1], room[1][1], first, last)

    over_lists(work, np.concatenate(([0], np.cumsum(size))))
    return made


@kernel
def _as_places(
    scores: Floats,
    start: Places,
    size: Places,
    chosen: NDArray[np.bool_],
    key: Floats,
    row: Places,
    spare: Floats,
    spare_row: Places,
    first: int,
    last: int,
) -> None:
    for q in range(first, last):
        if not chosen[q]:
            continue
        for i in range(size[q]):
            key[i] = scores[start[q] + i]
        merge_sort(key, row, spare, spare_row, size[q])
        place = 0.0
        for i in range(size[q]):
            if i > 0 and key[i] != key[i - 1]:
                place += 1
            scores[start[q] + row[i]] = place


@part
def merge_sort(key: Floats, row: Places, spare: Floats, spare_row: Places, n: int) -> None:
    """Sort the first n of `key`, rising, and fill `row` with where each came from; ties keep their order."""
    for i in range(n):
        row[i] = i
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            middle = min(first + width, n)
            last = min(first + 2 * width, n)
            i = first
            j = middle
            for to in range(first, last):
                if j == last or (i < middle and key[i] <= key[j]):
                    spare[to] = key[i]
                    spare_row[to] = row[i]
                    i += 1
                else:
                    spare[to] = key[j]
                    spare_row[to] = row[j]
                    j += 1
        for i in range(n):
            key[i] = spare[i]
            row[i] = spare_row[i]
        width *= 2
