"""Squared error: every document's label as a number to hit."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.losses.kernels.contract import Loss, LossResult
from rankloop.losses.kernels.lists import Lists, list_sums

__all__ = ["Squared"]


@dataclass(frozen=True)
class Squared(Loss):
    r"""Sum of squared differences between score and label.

    .. math:: C = \sum_i w_i (s_i - l_i)^2

    >>> Squared()([0.2, 0.3, 0.1, 0.1, 0.1], [1, 0, 0, 0, 0], [0, 5]).value / 5
    array([0.152])
    """

    pointwise: ClassVar[bool] = True

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        gap = lists.scores - lists.labels
        weight = lists.mass(np.ones(lists.n_documents))
        value = list_sums(weight * gap * gap, lists.offsets)
        return LossResult(value, 2.0 * weight * gap, 2.0 * weight)
