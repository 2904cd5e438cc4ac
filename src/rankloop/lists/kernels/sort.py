"""Sorting one list, compiled into the kernels that need it."""

import numpy as np

from rankloop._arrays import Floats, Ints, Ints32
from rankloop._jit import inlined, interpreted_by, part

__all__ = ["longest_list", "scratch", "sort_list"]

_BUCKETS = 2  # times as many as documents


@part
def longest_list(offsets: Ints, first: int, last: int) -> int:
    """The length of the longest of the lists `first` to `last`, for which a kernel makes room."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return longest


@part
def scratch(longest: int) -> tuple[Ints32, Floats, Floats, Ints32, Ints32]:
    """The arrays that `sort_list` writes, for lists of up to `longest` documents: row, key, work space."""
    return (
        np.empty(longest, np.int32),
        np.empty(longest),
        np.empty(longest),
        np.empty(longest, np.int32),
        np.empty(_BUCKETS * longest + 1, np.int32),
    )


def _sort_with_numpy(
    values: Floats, row: Ints32, key: Floats, spare: Floats, bucket: Ints32, slot: Ints32
) -> None:
    order = np.argsort(-values, kind="stable")
    row[: len(order)], key[: len(order)] = order, values[order]


@interpreted_by(_sort_with_numpy)
@inlined
def sort_list(values: Floats, row: Ints32, key: Floats, spare: Floats, bucket: Ints32, slot: Ints32) -> None:
    """Sort one list: `key` holds its values, falling, and `row` where each stood; ties keep their order.

    Values are spread over twice as many buckets as documents, which leaves them almost sorted; one pass
    without branches and insertion finish the work in linear time. Where the values are too skewed for that,
    merging takes over.
    Values must not be nan; infinite ones are allowed.
    """
    n = len(values)
    # The range: two chains of comparisons, as one alone would wait for itself.
    high = low = values[0]
    other_high = other_low = values[n - 1]
    for i in range(0, n - 1, 2):
        high = max(high, values[i])
        low = min(low, values[i])
        other_high = max(other_high, values[i + 1])
        other_low = min(other_low, values[i + 1])
    high = max(high, other_high)
    low = min(low, other_low)
    # A counting sort by bucket, in loops that the compiler can vectorise one by one.
    scale = (_BUCKETS * n - 1) / (high - low)
    spread = 0 < scale < np.inf  # else all values are equal, or too far apart: one bucket
    for i in range(_BUCKETS * n + 1):
        slot[i] = 0
    for i in range(n):
        bucket[i] = np.int32((high - values[i]) * scale) if spread else 0
    # Places are unsigned from here on: numba would ask of every other whether it counts from the end.
    one, last = np.uint64(1), np.uint64(n)
    for i in range(last):
        slot[np.uint64(bucket[i]) + one] += np.int32(1)
    for i in range(_BUCKETS * n):
        slot[i + 1] += slot[i]
    for i in range(last):
        at = slot[np.uint64(bucket[i])]
        slot[np.uint64(bucket[i])] = at + np.int32(1)
        key[np.uint64(at)] = values[i]
        row[np.uint64(at)] = i
    # The lower of two neighbours goes on to the next place. Most documents that are not in order yet share a
    # bucket with one other: they are now, and nothing was guessed.
    x, r = key[0], row[0]
    for i in range(one, last):
        y, s = key[i], row[i]
        up = y > x
        key[i - one], row[i - one] = (y, s) if up else (x, r)
        x, r = (x, r) if up else (y, s)
    key[n - 1], row[n - 1] = x, r
    # Insertion, as long as it moves few documents.
    moves = 4 * n
    for i in range(one, last):
        x = key[i]
        if key[i - one] < x:
            r = row[i]
            j = np.uint64(i)
            while j > 0 and key[j - one] < x:
                key[j] = key[j - one]
                row[j] = row[j - one]
                j = j - one
            key[j] = x
            row[j] = r
            moves -= int(i - j)
            if moves < 0:
                break
    if moves < 0:
        _merge_sort(key, row, spare, bucket, n)


@part
def _merge_sort(key: Floats, row: Ints32, spare: Floats, spare_row: Ints32, n: int) -> None:
    """Sort the first n of `key`, falling, and `row` with it; ties keep their order."""
    width = 1
    while width < n:
        for first in range(0, n, 2 * width):
            middle = min(first + width, n)
            last = min(first + 2 * width, n)
            i = first
            j = middle
            for to in range(first, last):
                if j == last or (i < middle and key[i] >= key[j]):
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
