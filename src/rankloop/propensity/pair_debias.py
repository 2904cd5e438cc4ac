"""Pair debiasing: position ratios of clicks and of skips, learned with a pairwise scorer."""

from typing import Any, Unpack

import numpy as np

from rankloop._arrays import Floats
from rankloop._jit import kernel
from rankloop._options import passes_to
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity.fitting.clicked import ClickedPages, JointOptions, Method, alternating
from rankloop.propensity.propensity import Propensity

__all__ = ["pair_debias"]


@passes_to(alternating)
def pair_debias(
    log: ClickLog, data: RankingDataset, *, p: float = 0.0, **options: Unpack[JointOptions]
) -> Propensity:
    r"""The t+ of unbiased LambdaMART (Hu et al., 2019), from pairs of a clicked and a skipped document.

    .. math:: t^+_k \propto \Big[ \sum_{k(i) = k} \frac{l(s_i - s_j)}{t^-_{k(j)}} \Big]^{1/(1+p)}, \qquad
              t^-_k \propto \Big[ \sum_{k(j) = k} \frac{l(s_i - s_j)}{t^+_{k(i)}} \Big]^{1/(1+p)}

    with l(x) = log(1 + exp(-x)), the scorer descending the sum of l / (t+ t-), and both relative to the same
    sums for the first rank, over the pages that show rank k.
    t+ is the curve; it equals the examination only if loss and relevance are the same at all ranks, so prefer
    `regression_em`. The curve needs overlap of features across ranks too.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=500, docs_per_query=5, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=10_000, k=4, seed=0)
    >>> pair_debias(log, data, resamples=20).values.round(1)[:3]
    array([1. , 0.5, 0.3])
    """
    if p < 0:
        raise ValueError(f"p is the norm that regularises the ratios, 0 or more, got {p}")

    def next_curve(pages: ClickedPages, scores: Floats, curve: Floats) -> Floats:
        table = _pair_losses(pages, scores, curve, np.zeros(len(scores)))
        longer = np.maximum(np.cumsum(table[::-1], axis=0)[::-1], 1e-12)  # over pages that show rank k
        rank = np.arange(pages.ranks)
        by_clicked = longer @ np.exp(-curve[1])
        plus = np.log(by_clicked[rank, rank] / by_clicked[:, 0]) / (1 + p)
        by_skipped = np.exp(-plus) @ longer
        return np.stack([plus, np.log(by_skipped[rank, rank] / by_skipped[:, 0]) / (1 + p)])

    method = Method("pair_debias", lambda ranks: np.zeros((2, ranks)), _loss, next_curve)
    return alternating(method, log, data, **options)


def _loss(pages: ClickedPages, scores: Floats, curve: Floats, slope: Floats) -> float:
    table = _pair_losses(pages, scores, curve, slope).sum(axis=0)
    return float(np.sum(table / np.exp(curve[0][:, None] + curve[1][None, :])))


def _pair_losses(pages: ClickedPages, scores: Floats, curve: Floats, slope: Floats) -> Floats:
    table = np.zeros((pages.ranks, pages.ranks, pages.ranks))
    pair_loss(*pages.arrays, scores, np.exp(curve), slope, table)
    return table


@kernel
def pair_loss(
    offsets: Any,
    document: Any,
    rank: Any,
    click: Any,
    page: Any,
    scores: Any,
    ratios: Any,
    slope: Any,
    table: Any,
) -> None:
    """Losses by (last rank of the page, rank of the clicked, rank of the skipped); gradient by document."""
    for p in range(len(offsets) - 1):
        last = rank[offsets[p + 1] - 1]
        for i in range(offsets[p], offsets[p + 1]):
            if click[i] == 0:
                continue
            for j in range(offsets[p], offsets[p + 1]):
                if click[j] == 1:
                    continue
                apart = scores[document[i]] - scores[document[j]]
                small = np.exp(-abs(apart))
                wrong = (small if apart > 0 else 1.0) / (1.0 + small)
                table[last, rank[i], rank[j]] += page[p] * (max(-apart, 0.0) + np.log1p(small))
                weighted = page[p] * wrong / (ratios[0, rank[i]] * ratios[1, rank[j]])
                slope[document[i]] -= weighted
                slope[document[j]] += weighted
