"""NDCG inferred from judgments of a random part of the pool."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.lists import Gain, discount, list_sums
from rankloop.lists.gain import GainOption
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_gain import JudgedGain, TopGain

__all__ = ["infndcg"]


@measure("infndcg", reads="top", bounded=False)
def infndcg(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[JudgedGain]
) -> Values:
    r"""Inferred NDCG of each list (after Yilmaz et al., 2008): a judged document stands for N / n.

    .. math:: \frac{N}{n} \sum_{r \le k, \text{ judged}} \frac{G(l_r)}{\log_2(1 + r)} \bigg/
        \sum_i G(l_{(i)}) \left[ S\left(i \tfrac{N}{n}\right) - S\left((i - 1) \tfrac{N}{n}\right) \right]

    where n of N pooled documents were judged, drawn at random, and :math:`S(x)` is the sum of the discounts
    of the first x ranks, at most k. The numerator is unbiased. The denominator is the DCG of N / n documents
    of each label judged, best first. The sample is one stratum per query. The ratio may exceed 1 by chance.
    Where all are judged it is NDCG. `judged` is as for `infap`.

    >>> infndcg([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], judged=[True, False, True]).round(4)
    array([1.0559])
    """
    top = TopGain(scores, labels, offsets, **options)
    lists, k, gain = top.lists, top.k, top.gain
    known, pooled = lists.pool_holes.counts(lists.pool_offsets)
    rate = pooled / np.maximum(known, 1)
    found = rate * top.found()
    best = lists.shared(("inferred", k, str(gain)), lambda: _best(lists, k, gain, rate))
    with np.errstate(invalid="ignore"):
        return lists.blank(found / best, best == 0, top.empty)


def _best(lists: MetricLists, k: int | None, gain: GainOption, rate: Floats) -> Floats:
    """The DCG of the best order of `rate` documents of each label in the pool."""
    offsets = lists.pool_offsets
    sizes = np.diff(offsets)
    amounts = Gain.of(gain, lists.pool_labels)(lists.pool_labels)
    query = np.repeat(np.arange(len(sizes)), sizes)
    amounts = amounts[np.lexsort((-amounts, query))]
    depth = int(min(cutoff(k), sizes.max(initial=0)))
    ranks = np.arange(depth + 1.0)
    sums = np.concatenate(([0.0], np.cumsum(discount(ranks[1:]))))
    until = (np.arange(len(amounts)) + 1 - offsets[:-1][query]) * rate[query]
    shares = np.interp(until, ranks, sums) - np.interp(until - rate[query], ranks, sums)
    return list_sums(amounts * shares, offsets)
