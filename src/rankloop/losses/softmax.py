"""Softmax cross-entropy with the labels as mass."""

from dataclasses import dataclass

import numpy as np

from rankloop.losses.kernels.cross_entropy import cross_entropy
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["Softmax"]


@dataclass(frozen=True)
class Softmax(Loss):
    r"""Cross-entropy between the labels and the softmax of the scores.

    .. math:: C = -\sum_i w_i l_i \log q_i, \quad q = \mathrm{softmax}(s)

    >>> Softmax()([0.0, 0.0], [0, 1], [0, 2]).value.round(4)
    array([0.6931])
    """

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        return cross_entropy(lists, lists.weighted(lists.labels.astype(np.float64)))
