"""Average relevance position."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop.lists import Gain
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.rank_sums import rank_sums

__all__ = ["arp"]


@measure("arp", higher_is_better=False, bounded=False)
def arp(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
) -> Values:
    r"""The mean rank of relevance (Zhu, 2004; Wang et al., 2018): lower is better.

    .. math:: \mathrm{ARP} = \frac{\sum_r l_r \, r}{\sum_r l_r}

    >>> arp([3.0, 2.0, 1.0], [1, 0, 1], [0, 3])
    array([2.])
    """
    lists = MetricLists.of(scores, labels, offsets, weight)
    ranks = np.arange(lists.longest + 1.0)
    gain = Gain.of("linear", lists.labels)
    total = rank_sums(lists, ties, None, gain, ranks)
    with np.errstate(invalid="ignore"):
        made = rank_sums(lists, ties, None, gain, ranks * (ranks + 1) / 2) / total
    return lists.blank(made, total == 0, empty)
