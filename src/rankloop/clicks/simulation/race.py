"""Pages of short lists drawn from a Plackett-Luce distribution, by a race of exponential times.

If every document gets an exponential time whose rate is its odds, the order of the times is a Plackett-Luce
draw. No step depends on the one before and no branch on a random number, so a page of ten out of twenty takes
about as long as ten draws from an alias table without rejections.
"""

from typing import Any

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel
from rankloop.clicks.simulation.random import exponential, skip

__all__ = ["BLOCK", "LONGEST", "handicaps", "race"]

BLOCK = 32  # times that are compared at once (vectorised)
LONGEST = 2 * BLOCK  # documents: all pairs are compared, which takes quadratic time
_WIDEST = 600.0  # difference of two logits beyond which a time overflows
_NEVER = np.int32(2**31 - 1)
_32 = np.int64(32)


def handicaps(logits: Floats, offsets: Ints) -> Floats:
    """One over the odds of each row, the best of its list at 1; 0 in lists that are too long or too wide."""
    lengths = np.diff(offsets)
    full = np.flatnonzero(lengths)
    best, worst = (each.reduceat(logits, offsets[full]) for each in (np.maximum, np.minimum))
    fit = (lengths[full] <= LONGEST) & (best - worst <= _WIDEST)
    top, fit = np.repeat(best, lengths[full]), np.repeat(fit, lengths[full])
    return np.exp(np.where(fit, top - logits, -np.inf))


@kernel
def race(
    state: Any, start: int, stop: int, handicap: Any, time: Any, short: Any, arrived: Any, rows: Any
) -> Any:
    """Fill `rows` with the smallest times; `time`, `short` and `arrived` have room for `LONGEST`.

    Positive floats are ordered like their bits, so integers are compared. The upper 32 bits separate nearly
    all times; where two are equal, some place is taken twice, the sum of the places is too small, and all 64
    bits are compared.
    """
    m, n = stop - start, len(rows)
    width = (m + BLOCK - 1) // BLOCK * BLOCK
    for i in range(m):
        taken = exponential(state, np.uint64(i + 1)) * handicap[start + i]
        time[i] = np.float64(taken).view(np.int64)
    for i in range(m):
        short[i] = time[i] >> _32
    for i in range(m, width):
        short[i] = _NEVER
    places = 0
    for i in range(m):
        mine = short[i]
        place: Any = np.int32(0)
        for j in range(width):
            place += np.int32(short[j] < mine)
        places += place
        arrived[place] = start + i
    if places != m * (m - 1) // 2:
        for i in range(m):
            place = np.int32(0)
            for j in range(m):
                place += np.int32(time[j] < time[i] or (time[j] == time[i] and j < i))
            arrived[place] = start + i
    for j in range(n):
        rows[j] = arrived[j]
    return skip(state, np.uint64(m))
