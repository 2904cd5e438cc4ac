"""Sigmoid cross-entropy: every document's label as a probability of being relevant."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.lists import list_sums
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.logistic import log1p_exp, sigmoid
from rankloop.losses.kernels.options import highest_label, positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["SigmoidCrossEntropy"]


@dataclass(frozen=True)
class SigmoidCrossEntropy(Loss):
    r"""Logistic loss of each document, labels scaled to [0, 1] by `max_label`.

    .. math:: C = \sum_i w_i (\log(1 + e^{s_i}) - p_i s_i), \quad p_i = l_i / l_{max}

    `max_label` is the highest grade of the collection; by default the highest label of the call (where data
    come in batches, set it, or use `rankloop.losses.settle`).

    >>> SigmoidCrossEntropy()([0.0, 2.0], [0, 1], [0, 2]).gradient.round(4)
    array([ 0.5   , -0.1192])
    """

    max_label: float | None = None

    pointwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self, max_label=self.max_label)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        highest = highest_label(self, lists.labels, self.max_label) or 1.0  # where all labels are 0
        wanted = lists.labels.astype(np.float64) / highest
        chance = sigmoid(lists.scores)
        weight = lists.item_weight
        value = list_sums(weight * (log1p_exp(lists.scores) - wanted * lists.scores), lists.offsets)
        return LossResult(value, weight * (chance - wanted), weight * chance * (1.0 - chance))
