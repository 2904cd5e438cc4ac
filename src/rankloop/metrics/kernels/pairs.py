"""Pairs of documents with different labels, counted in n log n."""

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import kernel, over_lists, part
from rankloop.lists import Ranked
from rankloop.lists.kernels.sort import scratch, sort_list
from rankloop.metrics.kernels.lists import MetricLists

__all__ = ["count_pairs"]


def count_pairs(lists: MetricLists, ties: str) -> Floats:
    """Per list: pairs in order, pairs out of order, pairs tied in score, and pairs not tied in score.

    The first three count pairs with different labels, each with the weight of its better document; the
    last counts all pairs.
    """
    return lists.shared(("pairs", ties), lambda: _counted(lists, ties))


def _counted(lists: MetricLists, ties: str) -> Floats:
    ranked = lists.ranked(ties)
    longest = lists.longest
    made = np.zeros((lists.n_lists, 4))
    over_lists(
        lambda first, last: _count_pairs(ranked, lists.offsets, longest, made, first, last), lists.offsets
    )
    return made


@kernel
def _count_pairs(ranked: Ranked, offsets: Ints, longest: int, out: Floats, first: int, last: int) -> None:
    weight, tied = ranked.weight, ranked.tied
    grade = np.empty(longest, np.int64)
    number = np.zeros(longest + 1)
    mass = np.zeros(longest + 1)
    for q in range(first, last):
        start = offsets[q]
        n = offsets[q + 1] - start
        top = _grades(ranked.labels[start : start + n], grade)
        number[: top + 1] = 0
        mass[: top + 1] = 0
        total = 0.0
        i = 0
        while i < n:
            right = 0.0
            wrong = 0.0
            j = i
            while j == i or (j < n and tied[start + j]):
                w = float(weight[start + j]) if len(weight) > 0 else 1.0
                right += total - _sum_below(mass, grade[j] + 1)
                wrong += w * _sum_below(number, grade[j])
                j += 1
            within = -right - wrong
            for d in range(i, j):
                w = float(weight[start + d]) if len(weight) > 0 else 1.0
                within += total - _sum_below(mass, grade[d] + 1) + w * _sum_below(number, grade[d])
                _add_to(number, grade[d], top, 1.0)
                _add_to(mass, grade[d], top, w)
                total += w
            out[q, 0] += right
            out[q, 1] += wrong
            out[q, 2] += within if j - i > 1 else 0.0
            out[q, 3] += float(i) * (j - i)
            i = j


@part
def _grades(labels: Singles, grade: Ints) -> int:
    """Number the distinct labels from 0, the lowest; how many there are."""
    n = len(labels)
    if n == 0:
        return 0
    row, key, spare, bucket, slot = scratch(n)
    sort_list(-labels.astype(np.float64), row, key, spare, bucket, slot)  # by rising label
    top = 0
    for i in range(n):
        top += i > 0 and key[i] != key[i - 1]
        grade[row[i]] = top
    return top + 1


@part
def _add_to(tree: Floats, grade: int, top: int, amount: float) -> None:
    """Add to one grade of a Fenwick tree over grades 0 to top - 1."""
    i = grade + 1
    while i <= top:
        tree[i] += amount
        i += i & -i


@part
def _sum_below(tree: Floats, grade: int) -> float:
    """The sum over all grades below this one."""
    total = 0.0
    i = grade
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total
