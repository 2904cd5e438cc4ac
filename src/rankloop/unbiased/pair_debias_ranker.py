"""Unbiased LambdaMART: pairs of a clicked and a skipped document, debiased while the trees are trained."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.lists import list_discounts, rank_lists
from rankloop.losses import Loss
from rankloop.rankers import LambdaMART
from rankloop.unbiased.naive import naive

__all__ = ["pair_debias_ranker"]


def pair_debias_ranker(
    log: ClickLog,
    data: RankingDataset,
    *,
    ranker: LambdaMART | None = None,
    p: float = 0.0,
    pages: int = 200_000,
    seed: int = 0,
) -> LambdaMART:
    r"""Unbiased LambdaMART (Hu et al., 2019): every pair is weighted by its inverse propensity ratios.

    .. math:: \sum_{c_i = 1, c_j = 0} \frac{|\Delta_{ij}| \, l(s_i - s_j)}{t^+_{k(i)} t^-_{k(j)}}, \qquad
        t^+_k = \Big[ \frac{\sum_{k(i) = k} |\Delta_{ij}| \, l / t^-_{k(j)}}
                           {\sum_{k(i) = 1} |\Delta_{ij}| \, l / t^-_{k(j)}} \Big]^{1 / (1 + p)}

    with :math:`l(x) = \log(1 + e^{-x})`, :math:`t^-` likewise, :math:`\Delta` the change of DCG when i and j
    swap. Ranks are the logged positions, also where rows are missing. `propensity_` is :math:`t^+`. At most
    `pages` pages are used, sampled at random.

    As published, the ratios diverge in small logs: trees that overfit the few clicks of low ranks make their
    loss vanish, so the ratios fall and the weights grow. Two bounds that hold for position-based clicks
    prevent it: :math:`t^-_k \ge 1`, as skips do not get rarer down the page, and :math:`t^+_k` is at least
    the ratio of the clicks at k to those at 1, as the logged order is no worse than a random one.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=60, docs_per_query=5, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=3000, seed=0)
    >>> pair_debias_ranker(log, data, ranker=LambdaMART(trees=10, leaves=4, threads=1)).n_trees_
    10
    """
    if p < 0:
        raise ValueError(f"p is the norm that regularises the ratios, 0 or more, got {p}")
    if log.n_pages > pages:
        chosen = np.random.default_rng(seed).choice(log.n_pages, pages, replace=False)
        log = log.select(np.sort(chosen))
    train = naive(log, data)
    loss = DebiasedPairs.of(log, train, p)
    given = LambdaMART(trees=150) if ranker is None else ranker
    fitted: LambdaMART = clone(given).set_params(loss=loss)
    fitted.fit(train.replace(query_weight=None))
    fitted.set_params(loss="by:unbiased.pair_debias_ranker")  # the loss holds the log and is not saved
    fitted.propensity_ = loss.ratios[0]
    return fitted


@dataclass(eq=False)
class DebiasedPairs(Loss):
    """The loss over (clicked, skipped) pairs by documents and positions; every call updates the ratios."""

    takes_pairs: ClassVar[bool] = True

    better: Ints
    worse: Ints
    clicked_at: Ints
    skipped_at: Ints
    count: Floats
    offsets: Ints
    p: float
    ratios: Floats  # t+ and t-, by position
    least: Floats  # lower bounds of the ratios

    @classmethod
    def of(cls, log: ClickLog, train: RankingDataset, p: float) -> "DebiasedPairs":
        row, rank = log.rows(train), log.position.astype(np.int64) - 1
        clicked = np.flatnonzero(log.click == 1)
        page = log.row_page[clicked]
        lengths = log.lengths[page]
        i = np.repeat(clicked, lengths)
        j = np.arange(len(i)) + np.repeat(log.offsets[page] - np.cumsum(lengths) + lengths, lengths)
        skipped = log.click[j] == 0
        i, j = i[skipped], j[skipped]
        depth = log.n_positions
        key = ((row[i] * depth + rank[i]) * train.n_documents + row[j]) * depth + rank[j]
        found, first, count = np.unique(key, return_index=True, return_counts=True)
        if len(found) == 0:
            raise ValueError("no page has both a click and a skipped document; there are no pairs to learn")
        i, j = i[first], j[first]
        ratios, least = np.ones((2, depth)), np.ones((2, depth))
        clicks = np.bincount(rank[i], count, depth)
        least[0] = np.clip(clicks / max(clicks[0], 1.0), 1e-3, 1.0)
        return cls(
            row[i], row[j], rank[i], rank[j], count.astype(np.float64), train.offsets, p, ratios, least
        )

    @property
    def name(self) -> str:
        return "debiasedpairs"

    def derivatives(self, scores: Any, labels: Any, offsets: Any, **_: Any) -> tuple[Floats, Floats]:
        s = np.asarray(scores, np.float64)
        apart = s[self.better] - s[self.worse]
        mass = self.count * self._swap(s)
        self.ratios = self._next(mass * np.logaddexp(0.0, -apart))
        weight = mass / (self.ratios[0][self.clicked_at] * self.ratios[1][self.skipped_at])
        wrong = 1.0 / (1.0 + np.exp(np.minimum(apart, 700.0)))
        lambdas, hessians = weight * wrong, weight * wrong * (1 - wrong)
        gradient = np.bincount(self.worse, lambdas, len(s)) - np.bincount(self.better, lambdas, len(s))
        hessian = np.bincount(self.worse, hessians, len(s)) + np.bincount(self.better, hessians, len(s))
        return np.asarray(gradient, np.float64), np.maximum(hessian, 1e-6).astype(np.float64)

    def _swap(self, scores: Floats) -> Floats:
        """What DCG loses when the two documents of a pair swap places in the current ranking."""
        at = np.empty(len(scores))
        at[rank_lists(scores, self.offsets)] = list_discounts(self.offsets)
        return np.asarray(np.abs(at[self.better] - at[self.worse]), np.float64)

    def _next(self, loss: Floats) -> Floats:
        """The ratios that balance the losses of the positions, relative to the first."""
        depth = self.ratios.shape[1]
        plus = np.bincount(self.clicked_at, loss / self.ratios[1][self.skipped_at], depth)
        minus = np.bincount(self.skipped_at, loss / self.ratios[0][self.clicked_at], depth)
        found = np.stack([plus, minus])
        ratios = found / np.maximum(found[:, :1], 1e-300)
        return np.asarray(np.maximum(ratios, self.least) ** (1.0 / (1.0 + self.p)), np.float64)
