"""ApproxNDCG: NDCG with smooth ranks."""

import math
from dataclasses import dataclass

import numpy as np

from rankloop.lists import discount, list_sums
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import check_gain, positive
from rankloop.losses.kernels.smooth_rank import smooth_lambdas, smooth_ranks
from rankloop.losses.kernels.swap import normalised_gains
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["ApproxNDCG"]


@dataclass(frozen=True)
class ApproxNDCG(Loss):
    r"""One minus NDCG at smooth ranks (Qin et al., 2010; Bruch et al., 2019).

    .. math:: C = 1 - \frac{1}{\mathrm{maxDCG}} \sum_i \frac{G_i}{\log_2(1 + \hat r_i)}, \quad
        \hat r_i = 1 + \sum_{j \ne i} \sigma((s_j - s_i)/\tau)

    Memory grows with the length of a list, and so does time in long lists.

    >>> ApproxNDCG(temperature=0.1)([2.0, 1.0, 3.0], [2, 0, 1], [0, 3]).value.round(4)  # NDCG is 0.7967
    array([0.2033])
    """

    temperature: float = 0.1
    gain: str | tuple[float, ...] = "exp2"

    def __post_init__(self) -> None:
        positive(self, temperature=self.temperature)
        check_gain(self, self.gain)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        amounts, best = normalised_gains(lists, self.gain, None)
        none = np.zeros(lists.n_documents)
        rank, _ = smooth_ranks(lists, none, self.temperature)
        at_rank = discount(rank)
        value = list_sums(best - amounts * at_rank, lists.offsets)
        slope = amounts * at_rank**2 / ((1.0 + rank) * math.log(2.0))
        return LossResult(value, *smooth_lambdas(lists, none, self.temperature, slope, none))
