"""Pair accuracy: the share of document pairs in the right order."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.pairs import count_pairs

__all__ = ["pair_accuracy"]


@measure("pair_accuracy")
def pair_accuracy(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
) -> Values:
    r"""The share of pairs with different labels whose better document has the higher score.

    .. math:: \frac{|\{(i, j) : l_i > l_j, s_i > s_j\}|}{|\{(i, j) : l_i > l_j\}|}

    A tie in score counts half; with item weights a pair has the weight of its better document. A list
    of equal labels has no pairs: its value is nan. For two grades this is the area under the ROC curve.

    >>> pair_accuracy([3.0, 2.0, 1.0], [2, 0, 1], [0, 3]).round(4)
    array([0.6667])
    """
    lists = MetricLists.of(scores, labels, offsets, weight)
    right, wrong, tied, _ = count_pairs(lists, ties).T
    total = right + wrong + tied
    with np.errstate(invalid="ignore"):
        return lists.blank((right + tied / 2) / total, total == 0, empty)
