"""LambdaLoss: proper bounds on ranking metrics."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.losses.kernels.contract import Loss, LossResult
from rankloop.losses.kernels.gain import gains
from rankloop.losses.kernels.ideal import discounts, ideal_dcg, ranks
from rankloop.losses.kernels.lists import Lists
from rankloop.losses.kernels.options import at_least_one, check_gain, choice, not_negative, positive
from rankloop.losses.kernels.order import rank_lists
from rankloop.losses.kernels.pairwise import PairRule, pair_loss

__all__ = ["LambdaLoss"]

_FORMS = ("ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2")


@dataclass(frozen=True)
class LambdaLoss(Loss):
    r"""Bounds on NDCG and ARP that a ranker can descend (Wang et al., 2018), with logarithms to base 2.

    .. math:: C = \sum_{i, j} w_{ij} \log_2 (1 + e^{-\sigma (s_i - s_j)})

    ======== ==================================== =====================================================
    form     pairs                                weight
    ======== ==================================== =====================================================
    ndcg1    all                                  :math:`G_i D_i`
    ndcg2    :math:`l_i > l_j`                    :math:`\delta_{ij} (G_i - G_j)`
    ndcg2++  :math:`l_i > l_j`                    :math:`(|D_i - D_j| + \mu \delta_{ij}) (G_i - G_j)`
    arp1     all                                  :math:`l_i`
    arp2     :math:`l_i > l_j`                    :math:`l_i - l_j`
    ======== ==================================== =====================================================

    where :math:`\delta_{ij} = D(|r_i - r_j|) - D(|r_i - r_j| + 1)` and gains are divided by maxDCG.
    `truncation` keeps the pairs with at least one document above that rank.

    >>> LambdaLoss(form="arp2")([0.0, 0.0], [0, 2], [0, 2]).value
    array([2.])
    """

    form: str = "ndcg2"
    mu: float = 10.0
    sigma: float = 1.0
    truncation: int | None = None
    gain: str | tuple[float, ...] = "exp2"

    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choice(self, "form", self.form, _FORMS)
        not_negative(self, mu=self.mu)
        positive(self, sigma=self.sigma)
        at_least_one(self, truncation=self.truncation)
        check_gain(self, self.gain)

    @property
    def smooth(self) -> bool:
        return self.form.startswith("arp") and self.truncation is None  # weighs no ranks

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        order = rank_lists(lists.scores, lists.offsets)
        rank, none = ranks(lists.offsets), np.zeros(0)
        base2 = np.full(lists.n_lists, 1.0 / math.log(2.0))
        if self.form.startswith("arp"):
            labels, one = lists.labels[order].astype(np.float64), np.ones(lists.n_documents)
            rule = PairRule(labels, one, np.zeros_like(one), one, base2, own=self.form == "arp1")
        else:
            best = ideal_dcg(lists, self.gain, self.truncation)
            factor = np.divide(base2, best, out=np.zeros_like(best), where=best > 0)
            amounts = gains(lists.labels[order], self.gain)
            drop = -np.diff(discounts(np.arange(1.0, rank.max(initial=1.0) + 2.0)), prepend=1.0)
            if self.form == "ndcg1":
                rule = PairRule(amounts * discounts(rank), none, none, none, factor, own=True)
            elif self.form == "ndcg2":
                rule = PairRule(amounts, none, none, none, factor, drop)
            else:
                one, discount = np.ones(lists.n_documents), discounts(rank)
                rule = PairRule(amounts, discount, one, discount, factor, self.mu * drop)
        return pair_loss(lists, order, rule, sigma=self.sigma, truncation=self.truncation, valued=exact)
