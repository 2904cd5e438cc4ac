"""ListNet: cross-entropy of top-one distributions."""

from dataclasses import dataclass

import numpy as np

from rankloop.lists import gains, list_sums
from rankloop.losses.kernels.cross_entropy import cross_entropy, softmax
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import check_gain, choice
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["ListNet"]


@dataclass(frozen=True)
class ListNet(Loss):
    r"""Top-one cross-entropy (Cao et al., 2007).

    .. math:: C = -\sum_i w_i p_i \log q_i, \quad q = \mathrm{softmax}(s)

    where p is the softmax of the labels (`target="softmax"`) or their gains over the sum of the list's gains
    (`target="gains"`).

    >>> ListNet()([0.0, 0.0], [0, 1], [0, 2]).gradient.round(4)
    array([ 0.2311, -0.2311])
    """

    target: str = "softmax"
    gain: str | tuple[float, ...] = "exp2"

    def __post_init__(self) -> None:
        choice(self, "target", self.target, ("softmax", "gains"))
        check_gain(self, self.gain)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        if self.target == "softmax":
            wanted = softmax(lists.labels.astype(np.float64), lists.offsets)
        else:
            amounts = gains(lists.labels, self.gain)
            sums = lists.spread(list_sums(amounts, lists.offsets))
            wanted = np.divide(amounts, sums, out=np.zeros_like(amounts), where=sums > 0)
        return cross_entropy(lists, lists.weighted(wanted))
