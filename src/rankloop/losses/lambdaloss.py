"""LambdaLoss: bounds on ranking metrics that are proper losses."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.lists import discount, gains, ideal_dcg, list_discounts, rank_lists
from rankloop.losses.kernels.lists import LossLists, inverse
from rankloop.losses.kernels.options import at_least_one, check_gain, choice, not_negative, positive
from rankloop.losses.kernels.pairwise import PairRule, pair_loss
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["LambdaLoss"]

_FORMS = ("ndcg1", "ndcg2", "ndcg2++", "arp1", "arp2")


@dataclass(frozen=True)
class LambdaLoss(Loss):
    r"""Bounds on NDCG and ARP as a loss (Wang et al., 2018), with logarithms to base 2.

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
        return self.form.startswith("arp") and self.truncation is None  # no weight depends on ranks

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        order = rank_lists(lists.scores, lists.offsets)
        none = np.zeros(0)
        base2 = np.full(lists.n_lists, 1.0 / math.log(2.0))
        if self.form.startswith("arp"):
            labels, one = lists.labels[order].astype(np.float64), np.ones(lists.n_documents)
            rule = PairRule(labels, one, np.zeros_like(one), one, base2, own=self.form == "arp1")
        else:
            best = ideal_dcg(lists.labels, lists.offsets, self.gain, self.truncation)
            factor, amounts = base2 * inverse(best), gains(lists.labels[order], self.gain)
            drop = -np.diff(discount(np.arange(1, max(lists.longest, 1) + 2)), prepend=1.0)
            if self.form == "ndcg1":
                rule = PairRule(amounts * list_discounts(lists.offsets), none, none, none, factor, own=True)
            elif self.form == "ndcg2":
                rule = PairRule(amounts, none, none, none, factor, drop)
            else:
                one, by_rank = np.ones(lists.n_documents), list_discounts(lists.offsets)
                rule = PairRule(amounts, by_rank, one, by_rank, factor, self.mu * drop)
        return pair_loss(lists, order, rule, sigma=self.sigma, truncation=self.truncation, valued=exact)
