"""Hit: whether anything relevant is among the first k (also called success)."""

from typing import Unpack

from numpy.typing import ArrayLike

from rankloop.metrics.kernels.columns import WeightedPool
from rankloop.metrics.kernels.first_relevant import first_relevant
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure

__all__ = ["hit"]


@measure("hit", "success", reads="top")
def hit(
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
    r"""1 when one of the first `k` documents is relevant, 0 when none is; ties give its probability.

    .. math:: \mathrm{hit@k} = [\exists r \le k : l_r \ge \text{relevance\_threshold}]

    With item weights it is the weight of the first relevant document.

    >>> hit([3.0, 2.0, 1.0], [0, 1, 0], [0, 3], k=1), hit([1.0, 1.0], [1, 0], [0, 2], k=1)
    (array([0.]), array([0.5]))
    """
    lists = MetricLists.of_weighted(scores, labels, offsets, **columns)
    return first_relevant(lists, k, relevance_threshold, ties, empty, by_rank=False)
