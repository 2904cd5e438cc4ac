"""F1: precision and recall in one number."""

from typing import Unpack

from numpy.typing import ArrayLike

from rankloop.metrics.kernels.columns import WeightedPool
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import found_within
from rankloop.metrics.precision import depths

__all__ = ["f1"]


@measure("f1", reads="top")
def f1(
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
    r"""The harmonic mean of precision and recall at `k`.

    .. math:: \mathrm{F1@k} = \frac{2 P R}{P + R} = \frac{2}{k + R_{\text{all}}} \sum_{r \le k} \mathrm{rel}_r

    >>> f1([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], k=1).round(4)
    array([0.6667])
    """
    lists = MetricLists.of_weighted(scores, labels, offsets, **columns)
    depth = depths(lists, k)
    found = found_within(lists, ties, relevance_threshold, depth)
    total = lists.relevant(relevance_threshold)
    nothing = total.number == 0
    return lists.blank(2 * found / (depth + total.weight + nothing), nothing, empty)
