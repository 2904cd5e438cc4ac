"""Discounted cumulative gain."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._jit import kernel
from rankloop.metrics._gain import Gain, GainOption, gain_of, gain_table
from rankloop.metrics._lists import Lists, Values, cutoff
from rankloop.metrics._measure import measure
from rankloop.metrics._sums import rank_sums

__all__ = ["dcg"]


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
    best = lists.shared(("best", k, str(gain)), lambda: best_gain(lists, k, gain))
    return lists.blank(made, best == 0, empty)


def discounted_gain(lists: Lists, k: int | None, gain: GainOption, ties: str) -> Values:
    """The DCG of each list; 0 where nothing is relevant."""
    return rank_sums(lists, ties, k, gain_table(gain, lists.labels), discount_sums(lists.offsets, k))


def best_gain(lists: Lists, k: int | None, gain: GainOption) -> Values:
    """The DCG of the best order of all judged documents of each list."""
    made: Gain = gain_table(gain, lists.pool_labels)
    highest = int(lists.pool_labels.max(initial=0))
    sums = discount_sums(lists.pool_offsets, k)
    rising = highest <= 16 and bool(np.all(np.diff(made.table) >= 0))
    return lists.fill(
        _best,
        lists.pool_labels,
        lists.pool_weight,
        lists.pool_offsets,
        made.kind,
        made.table,
        sums,
        highest,
        rising,
    )


def discount_sums(offsets: NDArray[np.int64], k: int | None) -> Values:
    """Entry r is the sum of the discounts of ranks 1 to r."""
    depth = min(cutoff(k), int(np.diff(offsets).max(initial=0)))
    return np.concatenate(([0.0], np.cumsum(1 / np.log2(np.arange(2.0, depth + 2)))))


@kernel
def _best(
    labels: NDArray[np.float32],
    weight: NDArray[np.float32],
    offsets: NDArray[np.int64],
    kind: int,
    table: NDArray[np.float64],
    sums: NDArray[np.float64],
    highest: int,
    rising: bool,
    values: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    for q in range(first, last):
        own = labels[offsets[q] : offsets[q + 1]]
        depth = min(len(own), len(sums) - 1)
        total = 0.0
        odd = 0
        for i in range(len(own)):
            odd += own[i] != np.floor(own[i])
        if rising and odd == 0 and len(weight) == 0:
            above = 0
            for grade in range(highest, -1, -1):
                more = 0
                for i in range(len(own)):
                    more += own[i] == np.float32(grade)
                upto = min(above + more, depth)
                total += gain_of(np.float32(grade), kind, table) * (sums[upto] - sums[above])
                above = upto
                if above == depth:
                    break
        else:
            gains = np.empty(len(own), np.float64)
            for i in range(len(own)):
                gains[i] = gain_of(own[i], kind, table)
                if len(weight) > 0:
                    gains[i] *= weight[offsets[q] + i]
            gains = np.sort(gains)
            for i in range(depth):
                total += gains[len(own) - 1 - i] * (sums[i + 1] - sums[i])
        values[q] = total
