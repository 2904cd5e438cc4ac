"""R-precision: precision at the number of relevant documents."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import found_within
from rankloop.metrics.kernels.top_relevant import TopRelevant, WeightedRelevant

__all__ = ["r_precision"]


@measure("rprec")
def r_precision(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[WeightedRelevant]
) -> Values:
    r"""Precision at rank R, the number of relevant documents: where precision and recall are the same.

    .. math:: \mathrm{RPrec} = \frac{1}{R} \sum_{r \le R} \mathrm{rel}_r

    >>> r_precision([3.0, 2.0, 1.0], [1, 0, 1], [0, 3])
    array([0.5])
    """
    top = TopRelevant(scores, labels, offsets, **options)
    total = top.total
    found = found_within(top.lists, top.ties, top.relevance_threshold, total.number.astype(np.int64))
    with np.errstate(invalid="ignore"):
        return top.blank(found / total.weight)
