"""Sums over the pairs of a list that miss the margin, in O(n log n) by sorting (Lee & Lin, 2014)."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import kernel, over_lists
from rankloop.lists import rank_lists

__all__ = ["PairSums", "levels", "order_of", "pair_sums"]


@dataclass(frozen=True, slots=True)
class PairSums:
    """For each document, over the pairs (i, j), `above[i] > below[j]`, with `scores[i] - scores[j] < 1`.

    As the preferred one: how many j, and the sum of `values[j]`. As the other one: the sum of `weight[i]`,
    and of `weight[i] * values[i]`.
    """

    count: Floats
    total: Floats
    weight: Floats
    weighted: Floats


def levels(labels: Singles, offsets: Ints) -> Ints:
    """The labels of each list as 0, 1, 2, ... in their order.

    >>> levels(np.array([5, 1, 5, 0.5, 2], np.float32), np.array([0, 3, 5]))
    array([1, 0, 1, 0, 1])
    """
    order = order_of(labels.astype(np.float64), offsets)
    steps = np.cumsum(np.diff(labels[order], prepend=labels[order[:1]]) != 0)
    starts = offsets[:-1][np.diff(offsets) > 0]
    level = np.empty(len(order), np.int64)
    level[order] = steps - np.repeat(steps[starts], np.diff(np.append(starts, len(order))))
    return level


def order_of(scores: Floats, offsets: Ints) -> Ints:
    """Rows by rising score, list after list."""
    return rank_lists(-scores, offsets)


def pair_sums(
    scores: Floats, values: Floats, above: Ints, below: Ints, weight: Floats, offsets: Ints, order: Ints
) -> PairSums:
    """The sums of every list; `above` and `below` are small whole numbers from 0, the levels of the list.

    >>> scores, one, offsets = np.array([0.2, 0.9]), np.ones(2), np.array([0, 2])
    >>> above, below = np.array([1, 0]), np.array([1, 0])
    >>> pair_sums(scores, one, above, below, one, offsets, order_of(scores, offsets)).count
    array([1., 0.])
    """
    made = PairSums(*(np.zeros(len(scores)) for _ in range(4)))

    def work(first: int, last: int) -> None:
        part = offsets[first : last + 1]
        out = (made.count, made.total, made.weight, made.weighted)
        _sweep(scores, values, above, below, weight, part, order, *out)

    over_lists(work, offsets)
    return made


@kernel
def _sweep(
    scores: Floats,
    values: Floats,
    above: Ints,
    below: Ints,
    weight: Floats,
    offsets: Ints,
    order: Ints,
    out_count: Floats,
    out_total: Floats,
    out_weight: Floats,
    out_weighted: Floats,
) -> None:
    for q in range(len(offsets) - 1):
        start, stop = offsets[q], offsets[q + 1]
        levels = 1
        for row in range(start, stop):
            levels = max(levels, above[row] + 1, below[row] + 1)
        tree = np.zeros((levels + 1, 2))
        # By falling score: the tree holds, by level, those j that still lie above scores[i] - 1.
        at = stop - 1
        for k in range(stop - 1, start - 1, -1):
            i = order[k]
            while at >= start and scores[i] - scores[order[at]] < 1.0:
                j = order[at]
                node = below[j] + 1
                while node <= levels:
                    tree[node, 0] += 1.0
                    tree[node, 1] += values[j]
                    node += node & -node
                at -= 1
            node = above[i]  # the levels below: 0 .. above[i] - 1
            while node > 0:
                out_count[i] += tree[node, 0]
                out_total[i] += tree[node, 1]
                node -= node & -node
        # By rising score: those i that still lie below scores[j] + 1, levels counted from the top.
        tree[:] = 0.0
        at = start
        for k in range(start, stop):
            j = order[k]
            while at < stop and scores[order[at]] - scores[j] < 1.0:
                i = order[at]
                node = levels - above[i]
                while node <= levels:
                    tree[node, 0] += weight[i]
                    tree[node, 1] += weight[i] * values[i]
                    node += node & -node
                at += 1
            node = levels - 1 - below[j]  # the levels above: below[j] + 1 .. levels - 1
            while node > 0:
                out_weight[j] += tree[node, 0]
                out_weighted[j] += tree[node, 1]
                node -= node & -node
