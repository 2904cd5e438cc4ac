"""Hit: whether anything relevant is among the first k (also called success)."""

from typing import Unpack

from numpy.typing import ArrayLike

from rankloop.metrics.kernels.first_relevant import first_relevant
from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import TopRelevant, WeightedAtRank

__all__ = ["hit"]


@measure("hit", "success", reads="top")
def hit(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[WeightedAtRank]
) -> Values:
    r"""1 when one of the first `k` documents is relevant, 0 when none is; ties give its probability.

    .. math:: \mathrm{hit@k} = [\exists r \le k : l_r \ge \text{relevance\_threshold}]

    With item weights it is the weight of the first relevant document.

    >>> hit([3.0, 2.0, 1.0], [0, 1, 0], [0, 3], k=1), hit([1.0, 1.0], [1, 0], [0, 2], k=1)
    (array([0.]), array([0.5]))
    """
    return first_relevant(TopRelevant(scores, labels, offsets, **options), by_rank=False)
