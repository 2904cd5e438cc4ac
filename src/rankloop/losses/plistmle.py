"""p-ListMLE: ListMLE with more weight on the top ranks."""

from dataclasses import dataclass

import numpy as np

from rankloop.lists import list_discounts, ranks
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import at_least_one, choice
from rankloop.losses.kernels.plackett_luce import plackett_luce
from rankloop.losses.listmle import label_order
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["PListMLE"]


@dataclass(frozen=True)
class PListMLE(Loss):
    r"""ListMLE with draws weighted by rank (Lan et al., 2014).

    .. math:: C = \sum_{r=1}^{n} \alpha(r) \, w_{\pi(r)}
        \Big( \log \sum_{k \ge r} e^{s_{\pi(k)}} - s_{\pi(r)} \Big)

    `decay="exp2"` is the paper's :math:`2^{n-r} - 1`, divided by its first value so that long lists do not
    overflow; `decay="log2"` is DCG's :math:`1/\log_2(1 + r)`. Ties as in `ListMLE`.

    >>> PListMLE(decay="log2")([0.0, 0.0, 0.0], [2, 1, 0], [0, 3]).value.round(4)
    array([1.5359])
    """

    decay: str = "exp2"
    ties: str = "average"
    samples: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        choice(self, "decay", self.decay, ("exp2", "log2"))
        choice(self, "ties", self.ties, ("average", "random"))
        at_least_one(self, samples=self.samples)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        order, blocks = label_order(lists, self.ties, self.seed)
        rank = ranks(lists.offsets)
        if self.decay == "log2":
            stage = list_discounts(lists.offsets)
        else:
            last = np.exp2(1.0 - lists.spread(np.diff(lists.offsets)))
            stage = (np.exp2(1.0 - rank) - last) / np.where(last < 1.0, 1.0 - last, 1.0)
        return plackett_luce(lists, order, blocks, stage, self.samples)
