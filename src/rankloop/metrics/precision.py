"""Precision: the share of the first k documents that is relevant."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._names import one_of
from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import TopRelevant, WeightedAtRank

__all__ = ["precision"]


@measure("p", "precision", reads="top")
def precision(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    divide_by: str = "k",
    **options: Unpack[WeightedAtRank],
) -> Values:
    r"""The share of the first `k` ranks that holds a relevant document.

    .. math:: \mathrm{P@k} = \frac{1}{k} \sum_{r \le k} \mathrm{rel}_r

    A list shorter than `k` leaves ranks empty, which counts against it, unless `divide_by="shown"` divides by
    the number of documents shown; without `k` the list is its own cut-off.

    >>> precision([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], k=2)
    array([0.5])
    """
    top = TopRelevant(scores, labels, offsets, **options)
    depth = top.depths
    if one_of("divide_by", divide_by, ("k", "shown")) == "shown":
        depth = np.minimum(depth, np.diff(top.lists.offsets))
    return top.blank(top.found() / np.maximum(depth, 1))
