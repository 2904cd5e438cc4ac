"""Reciprocal rank: how soon the first relevant document comes."""

from typing import Unpack

from numpy.typing import ArrayLike

from rankloop.metrics.kernels.first_relevant import first_relevant
from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import TopRelevant, WeightedAtRank

__all__ = ["reciprocal_rank"]


@measure("mrr", "rr", reads="top")
def reciprocal_rank(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[WeightedAtRank]
) -> Values:
    r"""One over the rank of the first relevant document, 0 when it comes after `k`; its mean is MRR.

    .. math:: \mathrm{RR@k} = \frac{[r_1 \le k]}{r_1},\quad
        r_1 = \min \{r : l_r \ge \text{relevance\_threshold}\}

    With item weights it is the weight of that document over its rank.

    >>> reciprocal_rank([2.0, 1.0, 3.0], [1, 1, 0], [0, 3])
    array([0.5])
    """
    return first_relevant(TopRelevant(scores, labels, offsets, **options), by_rank=True)
