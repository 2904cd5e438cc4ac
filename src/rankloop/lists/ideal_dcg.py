"""The DCG of the best order of every list."""

import numpy as np

from rankloop._arrays import Bools, Floats, Ints, Singles
from rankloop._jit import interpreted_by, kernel, over_lists
from rankloop.lists.discount import discount
from rankloop.lists.gain import Gain, GainOption
from rankloop.lists.kernels.rank_sums import rank_sums
from rankloop.lists.top_lists import top_lists

__all__ = ["discount_sums", "grade_gains", "ideal_by_grades", "ideal_dcg"]

_GRADES = 32  # up to so many grades it is faster to count each than to sort


_NONE = np.zeros(0, np.float32)


def ideal_dcg(
    labels: Singles,
    offsets: Ints,
    option: GainOption,
    k: int | None = None,
    weight: Singles = _NONE,
    *,
    highest: float | None = None,
) -> Floats:
    """The DCG of the best order of each list, down to rank `k`; gains count times their item weights.

    `highest` is the highest label, where it is known.

    >>> labels, offsets = np.array([0, 2, 1], np.float32), np.array([0, 3])
    >>> ideal_dcg(labels, offsets, "exp2").round(4)
    array([3.6309])
    """
    highest = float(labels.max(initial=0)) if highest is None else highest
    gain, sums = Gain.of(option, labels, highest), discount_sums(offsets, k)
    best = None if len(weight) else ideal_by_grades(labels, offsets, grade_gains(gain, highest), sums)
    if best is not None:
        return best
    amounts = gain(labels) * weight if len(weight) else gain(labels)
    ranked = top_lists(amounts, labels, weight, offsets, k, average=False)
    limits = np.full(len(offsets) - 1, len(sums) - 1)
    return rank_sums(ranked, offsets, limits, gain, sums)


def discount_sums(offsets: Ints, k: int | None = None) -> Floats:
    """Entry r is the sum of the discounts of ranks 1 to r, as far as a list or `k` reaches."""
    depth = int((offsets[1:] - offsets[:-1]).max(initial=0))
    table = discount(np.arange(1, (depth if k is None else min(k, depth)) + 1))
    return np.concatenate(([0.0], np.cumsum(table)))


def grade_gains(gain: Gain, highest: float) -> Floats:
    """The gains of the grades 0, 1, 2, ... to the highest label; none where these are too many to count."""
    return gain(np.arange(int(highest) + 1 if highest < _GRADES else 0, dtype=np.float32))


def ideal_by_grades(labels: Singles, offsets: Ints, table: Floats, sums: Floats) -> Floats | None:
    """The best DCG by counting grades; None where labels lie between grades, or gains do not rise with them.

    `table` holds the gains of the grades, `sums[r]` the discounts of ranks 1 to r together.
    """
    if len(table) == 0 or np.any(table[1:] < table[:-1]):
        return None
    best = np.empty(len(offsets) - 1)
    over_lists(lambda first, last: _count_grades(first, last, labels, offsets, table, sums, best), offsets)
    return best if best.min(initial=0.0) >= 0.0 else None


def _count_with_numpy(
    first: int, last: int, labels: Singles, offsets: Ints, table: Floats, sums: Floats, best: Floats
) -> None:
    begin, edges = offsets[first], offsets[first : last + 1]
    own = labels[begin : offsets[last]]
    deepest = np.minimum(np.diff(edges), len(sums) - 1)

    def number(wanted: Bools) -> Ints:
        """In each list."""
        return np.asarray(np.diff(np.append(0, np.cumsum(wanted))[edges - begin]))

    dcg, above = np.zeros(last - first), np.zeros(last - first, np.int64)
    for grade in range(len(table) - 1, -1, -1):
        upto = np.minimum(above + number(own == grade), deepest)
        dcg += table[grade] * (sums[upto] - sums[above])
        above = upto
    best[first:last] = np.where(number(own != np.floor(own)) > 0, -1.0, dcg)


@interpreted_by(_count_with_numpy)
@kernel
def _count_grades(
    first: int, last: int, labels: Singles, offsets: Ints, table: Floats, sums: Floats, best: Floats
) -> None:
    """One pass of equal comparisons per grade, which runs in vector lanes; -1 for labels between grades."""
    for q in range(first, last):
        own = labels[offsets[q] : offsets[q + 1]]
        depth = len(own) if len(own) < len(sums) else len(sums) - 1
        best[q] = 0.0
        between = np.int32(0)  # counts of one word each: twice as many to a vector as numba would take
        for i in range(len(own)):
            between = np.int32(between + (own[i] != np.int32(own[i])))
        if between > 0:
            best[q] = -1.0
            continue
        above = 0
        for step in range(len(table)):
            grade = len(table) - 1 - step
            number = np.int32(0)
            for i in range(len(own)):
                number = np.int32(number + (own[i] == np.float32(grade)))
            upto = min(above + int(number), depth)
            best[q] += table[grade] * (sums[upto] - sums[above])
            above = upto
            if above == depth:
                break
