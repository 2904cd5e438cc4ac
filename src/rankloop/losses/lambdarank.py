"""LambdaRank: RankNet's lambdas, weighted by what a swap would change in the metric."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Ints, Singles
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import (
    at_least_one,
    check_gain,
    choice,
    highest_label,
    not_negative,
    positive,
)
from rankloop.losses.kernels.pair_rule import PairRule
from rankloop.losses.kernels.pairwise import pair_loss
from rankloop.losses.kernels.single_lambdas import SingleLambdas
from rankloop.losses.kernels.swap import METRICS, swap_order, swap_terms
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["LambdaRank"]


@dataclass(frozen=True)
class LambdaRank(Loss):
    r"""Pairwise lambdas that increase a ranking metric (Burges et al., 2006; Burges, 2010).

    .. math:: \lambda_{ij} = -\sigma \, |\Delta M_{ij}| / (1 + e^{\sigma (s_i - s_j)}), \quad
        \Delta \mathrm{NDCG}_{ij} = (G_i - G_j) (D_i - D_j) / \mathrm{maxDCG}

    `metric` is ndcg, dcg, err, map, mrr, precision or arp: :math:`|\Delta M|` is the change of that metric
    when the two documents swap ranks. `truncation` keeps the pairs with at least one document above that
    rank (and cuts maxDCG there); for precision it is the cut-off and must be given. Labels from
    `relevance_threshold` on count as relevant for map, mrr and precision; `max_label` is the highest grade of
    the collection, for err (by default the highest label of the call). Equal scores have no order: their
    pairs take the expected change over all orders, so that the order of rows changes nothing and the first
    tree, where all scores are equal, learns from every pair; err, map and mrr, whose change depends on all
    that is ranked between, take the worst order and mean places of equal labels. The value is the weighted
    cross-entropy at the current sort. LightGBM's extra normalisations are off by default: `norm_gap` divides
    a pair by :math:`0.01 + |s_i - s_j|` (`LambdaGap`), `norm_list` scales a list by
    :math:`\log_2(1 + S) / S`, S its sum of lambdas.

    >>> LambdaRank(metric="ndcg")([0.0, 0.0], [0, 1], [0, 2]).gradient.round(4)
    array([ 0.1845, -0.1845])
    """

    metric: str = "ndcg"
    truncation: int | None = None
    sigma: float = 1.0
    gain: str | tuple[float, ...] = "exp2"
    max_label: float | None = None
    relevance_threshold: float = 1.0
    norm_gap: bool = False
    norm_list: bool = False

    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name, at, rank = str(self.metric).partition("@")
        if at and name in METRICS and rank.isdecimal():
            raise ValueError(
                f"metric of LambdaRank is {name!r} alone; for {self.metric} give truncation={rank}"
            )
        choice(self, "metric", self.metric, METRICS)
        at_least_one(self, truncation=self.truncation)
        positive(self, sigma=self.sigma, relevance_threshold=self.relevance_threshold)
        not_negative(self, max_label=self.max_label)
        check_gain(self, self.gain)
        if self.metric == "precision" and self.truncation is None:
            raise ValueError("LambdaRank(metric='precision') needs truncation: the cut-off of the precision")

    @property
    def smooth(self) -> bool:
        return False  # the weights jump where ranks change

    def prepare(
        self, labels: Singles, offsets: Ints, query_weight: NDArray[np.floating] | None = None
    ) -> SingleLambdas | None:
        if self.metric not in ("ndcg", "dcg") or self.norm_list:
            return None
        return SingleLambdas(
            labels,
            offsets,
            normalised=self.metric == "ndcg",
            gain=self.gain,
            sigma=self.sigma,
            truncation=self.truncation,
            gapped=self.norm_gap,
            query_weight=query_weight,
        )

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        highest = 0.0
        if self.metric == "err":
            highest = highest_label(self, lists.labels, self.max_label)
        if not (exact or len(lists.weight) or lists.pairs or self.norm_gap):
            fast = self.prepare(lists.labels, lists.offsets)
            found = None if fast is None else fast(lists.scores, np.float64)
            if found is not None:
                return LossResult(np.full(lists.n_lists, np.nan), *found)
        order = swap_order(self.metric, lists)
        terms = swap_terms(
            self.metric,
            lists,
            order,
            truncation=self.truncation,
            gain=self.gain,
            max_label=highest,
            relevance_threshold=self.relevance_threshold,
        )
        rule = PairRule(*terms, shrink_gap=self.norm_gap, shrink_list=self.norm_list)
        return pair_loss(lists, order, rule, sigma=self.sigma, valued=exact)
