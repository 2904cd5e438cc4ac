"""The DCG of the best order of every list."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, over_lists
from rankloop.lists.discount import discount
from rankloop.lists.gain import TABLE, Gain, GainOption
from rankloop.lists.kernels.ideal import GRADES, ideal_of_grades
from rankloop.lists.kernels.rank_sums import rank_sums
from rankloop.lists.top_lists import top_lists

__all__ = ["discount_sums", "grade_gains", "ideal_dcg"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_NONE = np.zeros(0, np.float32)


def ideal_dcg(
    labels: Singles, offsets: Ints, option: GainOption, k: int | None = None, weight: Singles = _NONE
) -> Floats:
    """The DCG of the best order of each list, down to rank `k`; gains count times their item weights.

    >>> labels, offsets = np.array([0, 2, 1], np.float32), np.array([0, 3])
    >>> ideal_dcg(labels, offsets, "exp2").round(4)
    array([3.6309])
    """
    gain, sums = Gain.of(option, labels), discount_sums(offsets, k)
    if len(weight) == 0:
        table = grade_gains(gain)
        if np.all(np.diff(table) >= 0):
            best = np.empty(len(offsets) - 1)
            over_lists(lambda a, b: _ideal_lists(a, b, labels, offsets, table, sums, best), offsets)
            if best.min(initial=0.0) >= 0.0:
                return best
    amounts = gain(labels) * weight if len(weight) else gain(labels)
    ranked = top_lists(amounts, labels, weight, offsets, k, average=False)
    limits = np.full(len(offsets) - 1, len(sums) - 1)
    return rank_sums(ranked, offsets, limits, gain, sums)


def discount_sums(offsets: Ints, k: int | None = None) -> Floats:
    """Entry r is the sum of the discounts of ranks 1 to r, as far as a list or `k` reaches."""
    depth = int(np.diff(offsets).max(initial=0))
    table = discount(np.arange(1, (depth if k is None else min(k, depth)) + 1))
    return np.concatenate(([0.0], np.cumsum(table)))


def grade_gains(gain: Gain) -> Floats:
    """The gains of the grades 0, 1, 2, ... that are counted."""
    grades = min(len(gain.table), GRADES) if gain.kind == TABLE else GRADES
    return gain(np.arange(grades, dtype=np.float32))


@kernel
def _ideal_lists(
    first: int, last: int, labels: Singles, offsets: Ints, table: Floats, sums: Floats, best: Floats
) -> None:
    for q in range(first, last):
        best[q] = ideal_of_grades(labels[offsets[q] : offsets[q + 1]], table, sums)
