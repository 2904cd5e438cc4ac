"""Ordinal regression: one score, a threshold between every two grades."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from rankloop.lists import list_sums
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.logistic import log1p_exp, sigmoid
from rankloop.losses.kernels.options import highest_label, positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["Ordinal"]


@dataclass(frozen=True)
class Ordinal(Loss):
    r"""Cumulative logits over grades 0 to m (McCullagh, 1980): is the grade at least 1, at least 2, ...

    .. math:: C = \sum_i w_i \sum_{k=1}^{m} \log(1 + e^{s_i - \theta_k}) - [l_i \ge k] (s_i - \theta_k)

    The thresholds are spread evenly, :math:`\theta_k = k - (m + 1)/2`, unless given (m rising numbers). m is
    `max_label`, or the highest label of the call; labels between grades count for the lower one.

    >>> Ordinal(max_label=2)([0.0, 0.0], [0, 2], [0, 2]).gradient
    array([ 1., -1.])
    """

    max_label: float | None = None
    thresholds: tuple[float, ...] | None = None

    pointwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self, max_label=self.max_label)
        if self.thresholds is not None:
            rising = all(a < b for a, b in pairwise(self.thresholds))
            if not rising or not self.thresholds:
                raise ValueError(f"thresholds of Ordinal must rise, got {self.thresholds!r}")
            if self.max_label is not None and len(self.thresholds) != int(self.max_label):
                raise ValueError(
                    f"Ordinal needs {int(self.max_label)} thresholds (max_label), got {len(self.thresholds)}"
                )

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        grades = float(len(self.thresholds)) if self.thresholds else self.max_label
        levels = int(highest_label(self, lists.labels, grades))
        cuts = self.thresholds or tuple(k - (levels + 1) / 2 for k in range(1, levels + 1))
        weight = lists.item_weight
        value, gradient, hessian = (np.zeros(lists.n_documents) for _ in range(3))
        for k, cut in enumerate(cuts, start=1):
            logit = lists.scores - cut
            chance, reached = sigmoid(logit), lists.labels >= k
            value += log1p_exp(logit) - reached * logit
            gradient += chance - reached
            hessian += chance * (1.0 - chance)
        return LossResult(list_sums(weight * value, lists.offsets), weight * gradient, weight * hessian)
