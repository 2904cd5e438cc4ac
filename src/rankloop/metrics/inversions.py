"""Inversions: how many document pairs are in the wrong order."""

from numpy.typing import ArrayLike

from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.pairs import count_pairs

__all__ = ["inversions"]


@measure("inversions", higher_is_better=False, bounded=False)
def inversions(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
) -> Values:
    r"""The number of pairs whose better document has the lower score: lower is better.

    .. math:: |\{(i, j) : l_i > l_j, s_i < s_j\}| + \tfrac12 |\{(i, j) : l_i > l_j, s_i = s_j\}|

    >>> inversions([3.0, 2.0, 1.0], [2, 0, 1], [0, 3])
    array([1.])
    """
    lists = MetricLists.of(scores, labels, offsets, weight)
    right, wrong, tied, _ = count_pairs(lists, ties).T
    return lists.blank(wrong + tied / 2, right + wrong + tied == 0, empty)
