"""LambdaRank: RankNet's lambdas, weighed by what a swap would change in the metric."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.losses.kernels.contract import Loss, LossResult
from rankloop.losses.kernels.gain import check_labels
from rankloop.losses.kernels.lists import Lists
from rankloop.losses.kernels.options import (
    at_least_one,
    check_gain,
    choice,
    highest_label,
    not_negative,
    positive,
)
from rankloop.losses.kernels.order import rank_lists
from rankloop.losses.kernels.pairwise import EVERY, PairRule, pair_loss
from rankloop.losses.kernels.single_lambdas import ndcg_lambdas
from rankloop.losses.kernels.swap import METRICS, swap_terms

__all__ = ["LambdaRank"]


@dataclass(frozen=True)
class LambdaRank(Loss):
    r"""Lambdas that climb a ranking metric (Burges et al., 2006; Burges, 2010).

    .. math:: \lambda_{ij} = -\sigma \, |\Delta M_{ij}| / (1 + e^{\sigma (s_i - s_j)}), \quad
        \Delta \mathrm{NDCG}_{ij} = (G_i - G_j) (D_i - D_j) / \mathrm{maxDCG}

    `metric` is ndcg, dcg, err, map, mrr, precision or arp: :math:`|\Delta M|` is the change of that metric
    when the two documents swap ranks. `truncation` keeps the pairs with at least one document above that
    rank (and cuts maxDCG there); for precision it is the cut-off and must be given. Labels from `relevant` on
    count as relevant for map, mrr and precision; `max_label` is the highest grade of the collection, for err
    (the highest label of the call where it is not given). The value is the weighed cross-entropy at the
    current sort. LightGBM's extra normalisations are off unless asked for: `norm_gap` divides a pair by
    :math:`0.01 + |s_i - s_j|`, `norm_list` scales a list by :math:`\log_2(1 + S) / S`, S its sum of lambdas.

    >>> LambdaRank(metric="ndcg")([0.0, 0.0], [0, 1], [0, 2]).gradient.round(4)
    array([ 0.1845, -0.1845])
    """

    metric: str = "ndcg"
    truncation: int | None = None
    sigma: float = 1.0
    gain: str | tuple[float, ...] = "exp2"
    max_label: float | None = None
    relevant: float = 1.0
    norm_gap: bool = False
    norm_list: bool = False

    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choice(self, "metric", self.metric, METRICS)
        at_least_one(self, truncation=self.truncation)
        positive(self, sigma=self.sigma, relevant=self.relevant)
        not_negative(self, max_label=self.max_label)
        check_gain(self, self.gain)
        if self.metric == "precision" and self.truncation is None:
            raise ValueError("LambdaRank(metric='precision') needs truncation: the cut-off of the precision")

    @property
    def smooth(self) -> bool:
        return False  # the weights jump where ranks change

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        highest = 0.0
        if self.metric == "err":
            highest = highest_label(self, lists.labels, self.max_label)
        elif self.metric in ("ndcg", "dcg"):
            check_labels(lists.labels, self.gain)
        plain = not (len(lists.weight) or lists.pairs or self.norm_gap or self.norm_list)
        if plain and not exact and self.metric in ("ndcg", "dcg"):
            gradient, hessian, holds = ndcg_lambdas(
                lists,
                self.gain,
                normalise=self.metric == "ndcg",
                sigma=self.sigma,
                truncation=self.truncation or EVERY,
            )
            if holds:
                return LossResult(np.full(lists.n_lists, np.nan), gradient, hessian)
        order = rank_lists(lists.scores, lists.offsets)
        terms = swap_terms(
            self.metric,
            lists,
            order,
            truncation=self.truncation,
            gain=self.gain,
            max_label=highest,
            relevant=self.relevant,
        )
        rule = PairRule(*terms, shrink_gap=self.norm_gap, shrink_list=self.norm_list)
        return pair_loss(lists, order, rule, sigma=self.sigma, truncation=self.truncation, valued=exact)
