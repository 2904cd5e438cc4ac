"""F1: precision and recall in one number."""

from typing import Unpack

from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import TopRelevant, WeightedAtRank

__all__ = ["f1"]


@measure("f1", reads="top")
def f1(scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[WeightedAtRank]) -> Values:
    r"""The harmonic mean of precision and recall at `k`.

    .. math:: \mathrm{F1@k} = \frac{2 P R}{P + R} = \frac{2}{k + R_{\text{all}}} \sum_{r \le k} \mathrm{rel}_r

    >>> f1([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], k=1).round(4)
    array([0.6667])
    """
    top = TopRelevant(scores, labels, offsets, **options)
    return top.blank(2 * top.found() / (top.depths + top.total.weight + (top.total.number == 0)))
