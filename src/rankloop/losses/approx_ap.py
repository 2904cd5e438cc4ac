"""ApproxAP: average precision with smooth ranks."""

import numpy as np

from rankloop.lists import list_sums
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.smooth_rank import smooth_lambdas, smooth_ranks
from rankloop.losses.kernels.swap import relevant_shares
from rankloop.losses.kernels.thresholded import Thresholded
from rankloop.losses.loss_result import LossResult

__all__ = ["ApproxAP"]


class ApproxAP(Thresholded):
    r"""One minus average precision at smooth ranks: the Smooth-AP of Brown et al. (2020).

    .. math:: C = \frac{1}{R} \sum_{i\,\mathrm{relevant}} w_i (1 - \hat h_i / \hat r_i)

    where :math:`\hat r_i` is the smooth rank of a document and :math:`\hat h_i` its smooth rank among the
    relevant ones: their quotient is the precision at the document. Both take the same sigmoid of the score
    gaps; Qin et al. (2010) smooth the order in :math:`\hat h_i` a second time, by a sigmoid of the smooth
    ranks. Labels from `relevance_threshold` on are relevant.

    >>> ApproxAP()([2.0, 1.0, 3.0], [1, 1, 0], [0, 3]).value.round(4)  # AP is (1/2 + 2/3) / 2
    array([0.4167])
    """

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        hit = (lists.labels >= self.relevance_threshold).astype(np.float64)
        share = lists.weighted(relevant_shares(lists, self.relevance_threshold))
        rank, hits = smooth_ranks(lists, hit, self.temperature)
        precision = (1.0 + hits) / rank
        value = list_sums(share * (1.0 - precision), lists.offsets)
        lambdas = smooth_lambdas(lists, hit, self.temperature, share * precision / rank, -share / rank)
        return LossResult(value, *lambdas)
