"""Normalised discounted cumulative gain."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_gain import TopGain, WeightedGain

__all__ = ["ndcg"]


@measure("ndcg", reads="top")
def ndcg(scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[WeightedGain]) -> Values:
    r"""NDCG of each list (Järvelin & Kekäläinen, 2002): DCG over the DCG of the best order.

    .. math:: \mathrm{NDCG@k} = \frac{\mathrm{DCG@k}}{\max \mathrm{DCG@k}},\quad
        \mathrm{DCG@k} = \sum_{r \le k} \frac{G(l_r)}{\log_2(1 + r)}

    Ties count as their expected value over random orders (McSherry & Najork, 2008). A list with no
    relevant document has no best order: its value is nan.

    >>> ndcg([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).round(4)
    array([0.7967])
    >>> ndcg([1.0, 1.0], [1, 0], [0, 2]).round(4)  # either order, half the time
    array([0.8155])
    """
    top = TopGain(scores, labels, offsets, **options)
    best = top.best()
    with np.errstate(invalid="ignore"):
        return top.lists.blank(top.found() / best, best == 0, top.empty)
