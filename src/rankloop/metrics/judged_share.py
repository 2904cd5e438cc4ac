"""How much of the first k ranks was judged at all."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import found_within
from rankloop.metrics.kernels.top_relevant import depths

__all__ = ["judged_share"]


@measure("judged", reads="top")
def judged_share(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    ties: str = "average",
    empty: str = "nan",
    judged: ArrayLike | None = None,
) -> Values:
    r"""The share of the first `k` ranks that holds a judged document, relevant or not: `"judged@10"`.

    .. math:: \mathrm{judged@k} = \frac{1}{k} \sum_{r \le k} [d_r \text{ is judged}]

    Where it is low, a metric that counts documents without judgment as irrelevant says little. A list shorter
    than `k` leaves ranks empty, which count as not judged. A list without documents has no value.

    >>> judged_share([3.0, 2.0, 1.0], [1, 0, 0], [0, 3], k=2, judged=[True, False, True])
    array([0.5])
    """
    lists = MetricLists.of(scores, labels, offsets, judged=judged)
    known = lists.holes.states(lists.labels) >= 0
    marked = MetricLists(lists.scores, known.astype(np.float32), lists.offsets)
    depth = depths(lists, k)
    found = found_within(marked, ties, 1, depth) / np.maximum(depth, 1)
    return lists.blank(found, np.diff(lists.offsets) == 0, empty)
