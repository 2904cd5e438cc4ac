"""Discounted cumulative gain."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._jit import kernel
from rankloop.lists.gain import GainOption, gain_table
from rankloop.metrics.kernels.lists import Lists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import rank_sums

__all__ = ["dcg"]

FEW = 16  # grades that are cheaper to count than to sort


def dcg(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    gain: GainOption = "exp2",
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
) -> Values:
    r"""DCG of each list (Järvelin & Kekäläinen, 2002): gains, discounted by the log of their rank.

    .. math:: \mathrm{DCG@k} = \sum_{r \le k} \frac{G(l_r)}{\log_2(1 + r)}

    >>> dcg([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).round(4)
    array([2.8928])
    """
    return per_list(Lists(scores, labels, offsets, weight), k=k, gain=gain, ties=ties, empty=empty)


@measure(dcg, "dcg", reads="top", bounded=False)
def per_list(lists: Lists, *, k: int | None, gain: GainOption, ties: str, empty: str) -> Values:
    made = discounted_gain(lists, k, gain, ties)
    return lists.blank(made, best_gain(lists, k, gain) == 0, empty)


def discounted_gain(lists: Lists, k: int | None, gain: GainOption, ties: str) -> Values:
    """The DCG of each list; 0 where nothing is relevant."""
    return rank_sums(lists, ties, k, gain_table(gain, lists.labels), discount_sums(lists.offsets, k))


def best_gain(lists: Lists, k: int | None, gain: GainOption) -> Values:
    """The DCG of the best order of all judged documents of each list."""
    return lists.shared(("best", k, str(gain)), lambda: _best_gain(lists, k, gain))


def _best_gain(lists: Lists, k: int | None, gain: GainOption) -> Values:
    labels, offsets = lists.pool_labels, lists.pool_offsets
    worth = gain_table(gain, labels)
    sums = discount_sums(offsets, k)
    highest = int(labels.max(initial=0))
    if highest <= FEW and len(lists.pool_weight) == 0:
        by_grade = worth.of(np.arange(highest + 1, dtype=np.float32))
        if np.all(np.diff(by_grade) >= 0):
            best = lists.fill(_by_grade, labels, offsets, by_grade, sums)
            if best.min(initial=0) >= 0:
                return best
    gains = worth.of(labels)
    weight = lists.pool_weight if len(lists.pool_weight) else None
    if weight is not None:
        gains *= weight
    return rank_sums(Lists(gains, labels, offsets, weight), "stable", k, worth, sums)


def discount_sums(offsets: NDArray[np.int64], k: int | None) -> Values:
    """Entry r is the sum of the discounts of ranks 1 to r."""
    depth = min(cutoff(k), int(np.diff(offsets).max(initial=0)))
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2.0, depth + 2)))))


@kernel
def _by_grade(
    labels: NDArray[np.float32],
    offsets: NDArray[np.int64],
    gains: NDArray[np.float64],
    sums: NDArray[np.float64],
    values: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    """The best order of few whole grades by counting each; -1 for a list with labels in between."""
    for q in range(first, last):
        own = labels[offsets[q] : offsets[q + 1]]
        depth = len(own) if len(own) < len(sums) else len(sums) - 1
        values[q] = 0.0
        between = 0
        for i in range(len(own)):
            between += own[i] != np.int32(own[i])
        if between > 0:
            values[q] = -1.0
            continue
        above = 0
        for step in range(len(gains)):
            grade = len(gains) - 1 - step
            number = 0
            for i in range(len(own)):
                number += own[i] == np.float32(grade)
            upto = above + number if above + number < depth else depth
            values[q] += gains[grade] * (sums[upto] - sums[above])
            above = upto
            if above == depth:
                break
