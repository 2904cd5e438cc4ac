"""Sorting short lists without branches, long ones by merging short ones."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import over_lists
from rankloop.losses.kernels.math import fast, inner

__all__ = ["LANES", "descending", "rank_lists"]

LANES = 32
_BLOCK = 192  # up to here counting beats comparing one by one; a multiple of LANES


def rank_lists(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of each list by falling value; equal values keep their order.

    >>> rank_lists(np.array([1.0, 3.0, 2.0, 0.0, 5.0]), np.array([0, 3, 5]))
    array([1, 2, 0, 4, 3])
    """
    order = np.empty(len(values), np.int64)
    over_lists(lambda first, last: _rank_span(first, last, values, offsets, order), offsets)
    return order


@fast
def _rank_span(
    first: int,
    last: int,
    values: NDArray[np.float64],
    offsets: NDArray[np.int64],
    order: NDArray[np.int64],
) -> None:
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    spare, keys = np.empty(longest, np.int64), np.empty(longest + LANES + 1, np.int16)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        if stop > start:
            descending(values[start:stop], order[start:stop], spare, keys)
            for k in range(start, stop):
                order[k] += start


@inner
def descending(
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    spare: NDArray[np.int64],
    keys: NDArray[np.int16],
) -> None:
    """`order[r]` becomes the index of the value at rank r + 1; equal values keep their order.

    Blocks are ordered by counting how many coarse keys lie above each (many lanes at a time), put right
    by insertion where coarseness hid a difference, then merged. `spare` and `keys` are scratch,
    `keys` longer than the list by LANES + 1.
    """
    n = values.size
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        _order_block(values[start:stop], order[start:stop], spare[start:stop], keys[start : stop + LANES + 1])
        for k in range(start, stop):
            order[k] += start
    width = _BLOCK
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for k in range(start, stop):
                if left < middle and (right >= stop or values[order[left]] >= values[order[right]]):
                    spare[k] = order[left]
                    left += 1
                else:
                    spare[k] = order[right]
                    right += 1
        for k in range(n):
            order[k] = spare[k]
        width *= 2


@inner
def _order_block(
    values: NDArray[np.float64],
    order: NDArray[np.int64],
    taken: NDArray[np.int64],
    keys: NDArray[np.int16],
) -> None:
    n = values.size
    padded = (n + LANES - 1) // LANES * LANES
    low, high = _extremes(values)
    scale = 65000.0 / (high - low) if high > low else 0.0
    for i in range(n):
        keys[i] = np.int16((values[i] - low) * scale - 32500.0)
        taken[i] = 0
    for i in range(n, padded + 1):
        keys[i] = -32768  # below every document
    collided = False
    for i in range(0, n, 2):
        first, second = _count_above(keys, keys[i], keys[i + 1], padded)
        collided |= _place(i, first, order, taken)
        if i + 1 < n:
            collided |= _place(i + 1, second, order, taken)
    if collided:
        _insert(values, order)


@inner
def _place(index: int, at: int, order: NDArray[np.int64], taken: NDArray[np.int64]) -> bool:
    order[at + taken[at]] = index
    taken[at] += 1
    return bool(taken[at] > 1)


@inner
def _insert(values: NDArray[np.float64], order: NDArray[np.int64]) -> None:
    for k in range(1, order.size):
        index = order[k]
        value = values[index]
        hole = k
        while hole > 0 and values[order[hole - 1]] < value:
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = index


@inner
def _extremes(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = values[0], values[0]
    for i in range(values.size):
        low = min(low, values[i])
        high = max(high, values[i])
    return low, high


@inner
def _count_above(keys: NDArray[np.int16], one: np.int16, two: np.int16, n: int) -> tuple[int, int]:
    above_one, above_two = np.int16(0), np.int16(0)
    for j in range(np.uint64(n)):
        above_one = np.int16(above_one + np.int16(keys[j] > one))
        above_two = np.int16(above_two + np.int16(keys[j] > two))
    return int(above_one), int(above_two)
