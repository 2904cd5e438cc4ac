"""LambdaLoss: bounds on ranking metrics that are proper losses."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.lists import discount, gains, ideal_dcg, list_discounts, rank_lists
from rankloop.losses.kernels.lists import LossLists, inverse
from rankloop.losses.kernels.options import at_least_one, check_gain, choice, not_negative, positive
from rankloop.losses.kernels.pair_rule import PairRule
from rankloop.losses.kernels.pairwise import pair_loss
from rankloop.losses.kernels.tied_ranks import EVERY, tied_means, tied_ranks, within_ties
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
    `truncation` keeps the pairs with at least one document above that rank. Equal scores take the mean
    discount and mean rank of their tie, and two documents of a tie their mean distance: no order of rows
    counts.

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
        order, offsets = rank_lists(lists.scores, lists.offsets), lists.offsets
        ranks, top = tied_ranks(lists.scores[order], offsets, self.truncation), self.truncation or EVERY
        none, one = np.zeros(0), np.ones(lists.n_documents)
        base2 = np.full(lists.n_lists, 1.0 / math.log(2.0))
        if self.form.startswith("arp"):
            labels = lists.labels[order].astype(np.float64)
            # No weight depends on ranks: alone the truncation does.
            rule = PairRule(labels, ranks.share, np.zeros_like(one), one, base2, ranks, ranks.either)
            rule = rule._replace(own=self.form == "arp1")
        else:
            best = ideal_dcg(lists.labels, offsets, self.gain, self.truncation)
            factor, amounts = base2 * inverse(best), gains(lists.labels[order], self.gain)
            by_rank = list_discounts(offsets)
            mean = tied_means(by_rank, ranks, offsets, EVERY)
            steps = np.arange(2.0, 2.0 * max(lists.longest, 1) + 2.0) / 2.0
            halves = np.concatenate(([0.0, 0.0], discount(steps) - discount(steps + 1.0)))
            # Two documents of a tie of m are (m + 1) / 3 ranks apart on average.
            apart = np.maximum((ranks.size + 1.0) / 3.0, 1.0)
            near = (discount(apart) - discount(apart + 1.0)) * ranks.either
            if self.form == "ndcg1":
                rule = PairRule(amounts * mean, none, none, none, factor, ranks, ranks.either, own=True)
            elif self.form == "ndcg2":
                rule = PairRule(amounts, none, none, none, factor, ranks, near, halves[::2].copy(), halves)
            else:
                within = within_ties(by_rank, ranks, offsets, top) + self.mu * near
                upper, halves = tied_means(by_rank, ranks, offsets, top), self.mu * halves
                rule = PairRule(
                    amounts, upper, ranks.share, mean, factor, ranks, within, halves[::2].copy(), halves
                )  # fmt: skip
        return pair_loss(lists, order, rule, sigma=self.sigma, valued=exact)
