"""The exponential loss of RankBoost, in one pass over the sorted labels."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop._arrays import Floats
from rankloop._jit import kernel
from rankloop.losses.kernels.judged import judged_loss
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.logsum import NOTHING, ByLabel, add_logs, lower_sums, over_labels
from rankloop.losses.kernels.options import positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["Exponential"]

_CAP = 300.0  # e^300 is 10^130: larger lambdas are cut to it


@dataclass(frozen=True)
class Exponential(Loss):
    r"""Exponential loss over pairs (Freund et al., 2003), the one RankBoost descends.

    .. math:: C = \sum_{l_i > l_j} e^{-\sigma (s_i - s_j)}

    The sum factors over documents, so a list takes a sort and one pass. Value and lambdas are cut at
    e^300, so that no score makes them overflow.

    >>> result = Exponential()([1.0, 0.0], [0, 1], [0, 2])
    >>> result.value.round(4), result.gradient.round(4)
    (array([2.7183]), array([ 2.7183, -2.7183]))
    """

    sigma: float = 1.0

    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self, sigma=self.sigma)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        if lists.pairs is not None:
            return judged_loss(lists, lists.pairs, self._cost)
        made = over_labels(_exponential_lists, lists, self.sigma * lists.scores, lists.item_weight)
        return LossResult(made.value, self.sigma * made.gradient, self.sigma**2 * made.hessian)

    def _cost(self, gap: Floats) -> tuple[Floats, Floats, Floats]:
        cost = np.exp(np.minimum(-self.sigma * gap, _CAP))
        return cost, self.sigma * cost, self.sigma**2 * cost


@kernel
def _exponential_lists(first: int, last: int, lists: ByLabel) -> None:
    scores, labels, offsets, weight, order, value, gradient, hessian = lists
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        below = lower_sums(scores, labels, order, start, stop)
        # `above` sums w exp(-s) over the higher labels, `met` also over those equal to the current one.
        above, met = NOTHING, NOTHING
        for k in range(start, stop):
            i = order[k]
            if k > start and labels[i] != labels[order[k - 1]]:
                above = met
            heavy = np.log(weight[i]) if weight[i] > 0.0 else NOTHING
            met = add_logs(met, heavy - scores[i])
            up = np.exp(min(heavy - scores[i] + below[k - start], _CAP))
            down = np.exp(min(scores[i] + above, _CAP))
            value[q] += up
            gradient[i] = down - up
            hessian[i] = up + down
