"""Precision: the share of the first k documents that is relevant."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._names import one_of
from rankloop.metrics.kernels.columns import WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import found_within

__all__ = ["precision"]


@measure("p", "precision", reads="top")
def precision(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    relevance_threshold: float = 1,
    divide_by: str = "k",
    ties: str = "average",
    empty: str = "nan",
    **columns: Unpack[WeightedPool],
) -> Values:
    r"""The share of the first `k` ranks that holds a relevant document.

    .. math:: \mathrm{P@k} = \frac{1}{k} \sum_{r \le k} \mathrm{rel}_r

    A list shorter than `k` leaves ranks empty, which counts against it, unless `divide_by="shown"` divides by
    the number of documents shown; without `k` the list is its own cut-off.

    >>> precision([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], k=2)
    array([0.5])
    """
    lists = MetricLists.of_weighted(scores, labels, offsets, **columns)
    depth = depths(lists, k)
    found = found_within(lists, ties, relevance_threshold, depth)
    if one_of("divide_by", divide_by, ("k", "shown")) == "shown":
        depth = np.minimum(depth, np.diff(lists.offsets))
    return lists.blank(found / np.maximum(depth, 1), lists.relevant(relevance_threshold).number == 0, empty)


def depths(lists: MetricLists, k: int | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """How many ranks of each list count: k, or all of its documents."""
    if k is None:
        return np.diff(lists.offsets)
    return np.full(lists.n_lists, cutoff(k), np.int64)
