"""Recall: the share of the relevant documents that is among the first k."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.columns import WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import found_within
from rankloop.metrics.precision import depths

__all__ = ["recall"]


@measure("recall", "r", reads="top")
def recall(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    relevance_threshold: float = 1,
    ties: str = "average",
    empty: str = "nan",
    **columns: Unpack[WeightedPool],
) -> Values:
    r"""The share of all relevant (judged) documents found in the first `k` ranks.

    .. math:: \mathrm{recall@k} = \frac{1}{R} \sum_{r \le k} \mathrm{rel}_r

    >>> recall([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], k=2)
    array([0.5])
    """
    lists = MetricLists.of_weighted(scores, labels, offsets, **columns)
    found = found_within(lists, ties, relevance_threshold, depths(lists, k))
    total = lists.relevant(relevance_threshold)
    with np.errstate(invalid="ignore"):
        return lists.blank(found / total.weight, total.number == 0, empty)
