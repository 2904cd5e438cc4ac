"""XE-NDCG: a cross-entropy that bounds NDCG."""

from dataclasses import dataclass

from rankloop.lists import gains, list_sums
from rankloop.losses.kernels.cross_entropy import cross_entropy
from rankloop.losses.kernels.draws import uniform_draws
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["XENDCG"]


@dataclass(frozen=True)
class XENDCG(Loss):
    r"""Cross-entropy with perturbed gains (Bruch, 2020).

    .. math:: C = -\sum_i w_i \frac{\varphi_i}{\sum_k \varphi_k} \log q_i, \quad
        \varphi_i = 2^{l_i} - \gamma_i, \; \gamma_i \sim U(0, 1), \; q = \mathrm{softmax}(s)

    The gammas follow from `seed`: one loss always draws the same; `rankloop.losses.redraw` gives the loss
    with other draws.

    >>> XENDCG(seed=3)([0.0, 0.0], [0, 1], [0, 2]).gradient.round(4)
    array([ 0.3334, -0.3334])
    """

    seed: int = 0

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        gammas = uniform_draws(self.seed, lists.n_documents)
        phi = gains(lists.labels, "exp2") + 1.0 - gammas
        sums = lists.spread(list_sums(phi, lists.offsets))
        return cross_entropy(lists, lists.weighted(phi / sums))
