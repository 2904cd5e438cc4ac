"""RankNet: cross-entropy between wanted and modelled preferences."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.lists import rank_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import positive
from rankloop.losses.kernels.pair_rule import PairRule
from rankloop.losses.kernels.pairwise import pair_loss
from rankloop.losses.kernels.tied_ranks import untied_ranks
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["RankNet"]


@dataclass(frozen=True)
class RankNet(Loss):
    r"""Pairwise logistic loss (Burges et al., 2005).

    .. math:: C = -\bar P \log P - (1 - \bar P) \log (1 - P), \quad P = 1 / (1 + e^{-\sigma (s_i - s_j)})

    The pairs of a list are those with different labels, where :math:`\bar P = 1`; with `ties`, pairs of equal
    labels join in at :math:`\bar P = 1/2`. Explicit `pairs` replace them and bring their own probability.

    >>> result = RankNet()([1.0, 0.0], [0, 1], [0, 2])
    >>> result.value.round(4), result.gradient.round(4)
    (array([1.3133]), array([ 0.7311, -0.7311]))
    """

    sigma: float = 1.0
    ties: bool = False

    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self, sigma=self.sigma)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        order = rank_lists(lists.scores, lists.offsets)
        labels, none = lists.labels[order].astype(np.float64), np.zeros(0)
        factor, ranks = np.ones(lists.n_lists), untied_ranks(lists.n_lists)
        rule = PairRule(labels, none, none, none, factor, ranks, sign=True, ties=self.ties)
        return pair_loss(lists, order, rule, sigma=self.sigma, valued=exact)
