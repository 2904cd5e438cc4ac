"""Squared error of every document."""

from dataclasses import dataclass
from typing import ClassVar

from rankloop.lists import list_sums
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["Squared"]


@dataclass(frozen=True)
class Squared(Loss):
    r"""Sum of squared differences between score and label.

    .. math:: C = \sum_i w_i (s_i - l_i)^2

    >>> Squared()([0.2, 0.3, 0.1, 0.1, 0.1], [1, 0, 0, 0, 0], [0, 5]).value / 5
    array([0.152])
    """

    pointwise: ClassVar[bool] = True

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        gap = lists.scores - lists.labels
        weight = lists.item_weight
        value = list_sums(weight * gap * gap, lists.offsets)
        return LossResult(value, 2.0 * weight * gap, 2.0 * weight)
