"""R-precision: precision at the number of relevant documents."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.columns import WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import found_within

__all__ = ["r_precision"]


@measure("rprec")
def r_precision(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    relevance_threshold: float = 1,
    ties: str = "average",
    empty: str = "nan",
    **columns: Unpack[WeightedPool],
) -> Values:
    r"""Precision at rank R, the number of relevant documents: where precision and recall are the same.

    .. math:: \mathrm{RPrec} = \frac{1}{R} \sum_{r \le R} \mathrm{rel}_r

    >>> r_precision([3.0, 2.0, 1.0], [1, 0, 1], [0, 3])
    array([0.5])
    """
    lists = MetricLists.of(scores, labels, offsets, **columns)
    total = lists.relevant(relevance_threshold)
    found = found_within(lists, ties, relevance_threshold, total.number.astype(np.int64))
    with np.errstate(invalid="ignore"):
        return lists.blank(found / total.weight, total.number == 0, empty)
