"""Sums over ranks: the gain of a document times the weight of its rank."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import in_python, interpreted_by, kernel, over_lists
from rankloop.lists.gain import Gain
from rankloop.lists.kernels.gain_of import gain_of
from rankloop.lists.kernels.untied import Untied
from rankloop.lists.top_lists import Ranked

__all__ = ["rank_sums"]


def rank_sums(ranked: Ranked, offsets: Ints, limits: Ints, gain: Gain, sums: Floats) -> Floats:
    """Per list the sum of gain × rank weight over the ranks up to `limits[q]`.

    `sums[r]` is the total weight of ranks 1 to r. In a tie every document gets the mean of its ranks, which
    is its expected value.
    """
    values = np.empty(len(offsets) - 1)

    def work(first: int, last: int) -> None:
        _rank_sums(ranked, limits, gain, sums, values, first, last)

    over_lists(work, offsets)
    return values


def _sums_with_numpy(
    ranked: Ranked, limits: Ints, gain: Gain, sums: Floats, values: Floats, first: int, last: int
) -> None:
    alone = Untied.of(ranked, limits[first:last], first, last)
    terms = gain(ranked.labels[alone.place]) * (sums[alone.rank] - sums[alone.rank - 1])
    values[first:last] = np.bincount(alone.owner - first, terms, last - first)  # it adds in their order
    for q in alone.others:
        in_python(_rank_sums)(ranked, limits, gain, sums, values, q, q + 1)


@interpreted_by(_sums_with_numpy)
@kernel
def _rank_sums(
    ranked: Ranked, limits: Ints, gain: Gain, sums: Floats, values: Floats, first: int, last: int
) -> None:
    labels, weight, tied = ranked.labels, ranked.weight, ranked.tied
    for q in range(first, last):
        start = ranked.start[q]
        end = start + ranked.kept[q]
        k = limits[q]
        total = 0.0
        i = start
        while i < end and i - start < k:
            mean = 0.0
            j = i
            while j == i or (j < end and tied[j]):
                brought = gain_of(labels[j], gain.kind, gain.table)
                mean += brought * weight[j] if len(weight) > 0 else brought
                j += 1
            if j > i + 1:
                mean /= j - i
            total += mean * (sums[j - start if j - start < k else k] - sums[i - start])
            i = j
        values[q] = total
