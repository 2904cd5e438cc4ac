"""Recall: the share of the relevant documents that is among the first k."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import TopRelevant, WeightedAtRank

__all__ = ["recall"]


@measure("recall", "r", reads="top")
def recall(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[WeightedAtRank]
) -> Values:
    r"""The share of all relevant (judged) documents found in the first `k` ranks.

    .. math:: \mathrm{recall@k} = \frac{1}{R} \sum_{r \le k} \mathrm{rel}_r

    >>> recall([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], k=2)
    array([0.5])
    """
    top = TopRelevant(scores, labels, offsets, **options)
    with np.errstate(invalid="ignore"):
        return top.blank(top.found() / top.total.weight)
