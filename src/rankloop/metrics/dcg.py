"""Discounted cumulative gain."""

from typing import Unpack

from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_gain import GainAtRank, TopGain

__all__ = ["dcg"]


@measure("dcg", reads="top", bounded=False)
def dcg(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    **options: Unpack[GainAtRank],
) -> Values:
    r"""DCG of each list (Järvelin & Kekäläinen, 2002): gains, discounted by the log of their rank.

    .. math:: \mathrm{DCG@k} = \sum_{r \le k} \frac{G(l_r)}{\log_2(1 + r)}

    >>> dcg([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).round(4)
    array([2.8928])
    """
    top = TopGain(scores, labels, offsets, weight=weight, **options)
    return top.lists.blank(top.found(), top.best() == 0, top.empty)
