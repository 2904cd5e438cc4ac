"""The best k of scored documents; of equal ones the first."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel, part

__all__ = ["best_first", "shrink"]

BUCKETS = 1_024  # among which numbers are counted to find the n-th largest


def best_first(rows: Ints, scores: Floats, k: int) -> tuple[Ints, Floats]:
    """The k best by score, then by row.

    Two sorts of numbers alone, which numpy does with vectors of the processor, take a fraction of the time of
    one sort by two keys.
    """
    order = np.argsort(-scores)
    best = scores[order]
    group = np.zeros(len(best), np.int64)
    np.cumsum(best[1:] != best[:-1], out=group[1:])
    key = (group << 32) | rows[order]
    key.sort()
    return key[:k] & 0xFFFFFFFF, best[:k]


@part
def _nth_largest(keys: Ints, n: int) -> int:
    """The n-th largest number, by counting in buckets and then in those of the bucket that holds it.

    It has no branch that depends on a number, which the processor would guess wrong as often as not.
    """
    left, inside = keys.copy(), np.empty(BUCKETS, np.int32)
    while True:
        low, high = left[0], left[0]
        for key in left:
            low, high = min(low, key), max(high, key)
        if low == high:
            return int(low)
        shift = 0
        while (high - low) >> shift >= BUCKETS:
            shift += 1
        inside[:] = 0
        for key in left:
            inside[np.uint64((key - low) >> shift)] += 1
        bucket = (high - low) >> shift
        while inside[bucket] < n:
            n -= inside[bucket]
            bucket -= 1
        some = 0
        for key in left:
            left[some] = key
            some += (key - low) >> shift == bucket
        left = left[:some]


@kernel
def shrink(scores: Floats, docs: Ints, size: int, k: int) -> float:
    """Move the k best of the first `size` to the front, in no order, and give the lowest score among them.

    Of documents with equal scores the first stay. No score is negative, so that their bits have their order.
    """
    bits = scores[:size].view(np.int64)
    last = _nth_largest(bits, k)
    above, equal = 0, 0
    for bit in bits:
        above += bit > last
        equal += bit == last
    highest = np.int64(2**62)
    if equal > k - above:
        highest = np.int64(-_nth_largest(-docs[:size][bits == last], k - above))
    kept, lowest = 0, np.inf
    for i in range(size):
        score, doc, bit = scores[i], docs[i], bits[i]
        scores[kept], docs[kept] = score, doc
        kept += (bit > last) | ((bit == last) & (doc <= highest))
    for score in scores[:k]:
        lowest = min(lowest, score)
    return float(lowest)
