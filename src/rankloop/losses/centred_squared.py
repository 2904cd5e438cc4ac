"""Squared error of every document, up to a constant for each list."""

from dataclasses import dataclass

import numpy as np

from rankloop.lists import list_sums
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["CentredSquared"]


@dataclass(frozen=True)
class CentredSquared(Loss):
    r"""Squared differences between score and label, less their mean in the list (CatBoost's QueryRMSE).

    .. math:: C = \sum_i w_i (e_i - \bar e)^2, \quad e_i = s_i - l_i, \quad \bar e = \frac{1}{n} \sum_i e_i

    A constant added to all scores of a list changes nothing: only differences within the list are learned.

    >>> CentredSquared()([5.0, 4.5, 4.0], [1, 0, 0], [0, 3]).value.round(4)
    array([0.1667])
    """

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        sizes = np.diff(lists.offsets)
        count = np.maximum(sizes, 1)
        gap = lists.scores - lists.labels
        gap -= np.repeat(list_sums(gap, lists.offsets) / count, sizes)
        weight = lists.item_weight
        pull = weight * gap
        level = list_sums(pull, lists.offsets) / count
        curve = list_sums(weight, lists.offsets) / count**2
        value = list_sums(pull * gap, lists.offsets)
        gradient = 2.0 * (pull - np.repeat(level, sizes))
        hessian = 2.0 * (weight * (1.0 - 2.0 / np.repeat(count, sizes)) + np.repeat(curve, sizes))
        return LossResult(value, gradient, hessian)
