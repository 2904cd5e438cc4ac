"""Unique softmax: each relevant document alone against the less relevant ones."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats
from rankloop._jit import kernel
from rankloop.lists import gains
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.logsum import NOTHING, ByLabel, add_logs, lower_sums, over_labels
from rankloop.losses.kernels.options import check_gain
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["UniqueSoftmax", "against_lower"]


@dataclass(frozen=True)
class UniqueSoftmax(Loss):
    r"""Softmax in which documents of one grade do not compete (Zhu & Klabjan, 2020).

    .. math:: C = -\sum_i w_i G_i \log \frac{e^{s_i}}{e^{s_i} + \sum_{l_j < l_i} e^{s_j}}

    >>> UniqueSoftmax()([0.0, 0.0, 0.0], [1, 1, 0], [0, 3]).value.round(4)  # 2 log 2
    array([1.3863])
    """

    gain: str | tuple[float, ...] = "exp2"

    def __post_init__(self) -> None:
        check_gain(self, self.gain)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        return against_lower(lists, lists.weighted(gains(lists.labels, self.gain)))


def against_lower(lists: LossLists, mass: Floats) -> LossResult:
    """Cross-entropy of each document with mass against all documents of lower labels."""
    return over_labels(_against_lists, lists, lists.scores, mass)


@kernel
def _against_lists(first: int, last: int, lists: ByLabel) -> None:
    scores, labels, offsets, mass, order, value, gradient, hessian = lists
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        below = lower_sums(scores, labels, order, start, stop)
        # Sums of mass / Z and mass / Z^2 over higher labels, and over those met so far.
        above, above2, met, met2 = NOTHING, NOTHING, NOTHING, NOTHING
        for k in range(start, stop):
            i = order[k]
            if k > start and labels[i] != labels[order[k - 1]]:
                above, above2 = met, met2
            race = add_logs(scores[i], below[k - start])
            heavy = np.log(mass[i]) if mass[i] > 0.0 else NOTHING
            met, met2 = add_logs(met, heavy - race), add_logs(met2, heavy - 2.0 * race)
            own, pull = np.exp(scores[i] - race), np.exp(scores[i] + above)
            value[q] += mass[i] * (race - scores[i])
            gradient[i] = pull - mass[i] * (1.0 - own)
            hessian[i] = mass[i] * own * (1.0 - own) + max(pull - np.exp(2.0 * scores[i] + above2), 0.0)
