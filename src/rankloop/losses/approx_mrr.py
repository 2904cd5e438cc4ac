"""ApproxMRR: reciprocal ranks with smooth ranks."""

import numpy as np

from rankloop.lists import list_sums
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.smooth_rank import smooth_lambdas, smooth_ranks
from rankloop.losses.kernels.swap import relevant_shares
from rankloop.losses.kernels.thresholded import Thresholded
from rankloop.losses.loss_result import LossResult

__all__ = ["ApproxMRR"]


class ApproxMRR(Thresholded):
    r"""One minus the mean reciprocal smooth rank of a list's relevant documents (as in TF-Ranking).

    .. math:: C = \frac{1}{R} \sum_{i\,\mathrm{relevant}} w_i (1 - 1/\hat r_i), \quad
        \hat r_i = 1 + \sum_{j \ne i} \sigma((s_j - s_i)/\tau)

    With one relevant document it is one minus the reciprocal rank. Labels from `relevance_threshold`
    on are relevant.

    >>> ApproxMRR()([2.0, 1.0, 3.0], [1, 0, 0], [0, 3]).value.round(4)
    array([0.5])
    """

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        share = lists.weighted(relevant_shares(lists, self.relevance_threshold))
        none = np.zeros(lists.n_documents)
        rank, _ = smooth_ranks(lists, none, self.temperature)
        value = list_sums(share * (1.0 - 1.0 / rank), lists.offsets)
        return LossResult(value, *smooth_lambdas(lists, none, self.temperature, share / rank**2, none))
