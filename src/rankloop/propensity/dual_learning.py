"""The dual learning algorithm: a scorer and a curve, each debiased by the other."""

from typing import Any, Unpack

import numpy as np

from rankloop._arrays import Floats
from rankloop._jit import kernel
from rankloop._options import passes_to
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity.fitting.clicked import ClickedPages, JointOptions, Method, alternating
from rankloop.propensity.propensity import Propensity

__all__ = ["dual_learning"]

CLIP = 100.0  # the largest weight of one click


@passes_to(alternating)
def dual_learning(log: ClickLog, data: RankingDataset, **options: Unpack[JointOptions]) -> Propensity:
    r"""Dual learning (Ai et al., 2018): inverse relevance weighting of positions, and the reverse.

    .. math:: L_R = -\sum_{c_d = 1} \frac{t_1}{t_{k(d)}} \log \mathrm{softmax}(s)_d, \qquad
              L_E = -\sum_{c_d = 1} \frac{r_1}{r_d} \log \mathrm{softmax}(g)_{k(d)}

    with t = exp(g), r = exp(s), and weights fixed in each step and clipped at 100. Scores are linear in
    normal scores of the features; the minimum of L_E has a closed form. At most `pages` pages with clicks are
    used. The curve needs overlap of features across ranks, as that of `regression_em`.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=500, docs_per_query=5, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=10_000, k=4, seed=0)
    >>> dual_learning(log, data, resamples=20).values.round(1)[:3]
    array([1. , 0.5, 0.3])
    """
    method = Method("dual_learning", np.zeros, _loss, _next_curve)
    return alternating(method, log, data, **options)


def _loss(pages: ClickedPages, scores: Floats, curve: Floats, slope: Floats) -> float:
    weight = np.minimum(np.exp(curve[0] - curve), CLIP)
    return float(softmax_loss(*pages.arrays, scores, weight, slope))


def _next_curve(pages: ClickedPages, scores: Floats, curve: Floats) -> Floats:
    """log theta: clicks at k by the inverse of relevance, over clicks at 1 on the pages that show k."""
    sums = np.zeros((2, pages.ranks))
    inverse_relevance(*pages.arrays, scores, CLIP, sums)
    found = np.log(np.maximum(sums[0], 1e-12) / np.maximum(sums[1], 1e-12))
    return np.asarray(found - found[0])


@kernel
def softmax_loss(
    offsets: Any, document: Any, rank: Any, click: Any, page: Any, scores: Any, weight: Any, slope: Any
) -> float:
    value = 0.0
    for p in range(len(offsets) - 1):
        a, b = offsets[p], offsets[p + 1]
        top = -np.inf
        mass = 0.0
        for i in range(a, b):
            top = max(top, scores[document[i]])
            if click[i] == 1:
                mass += weight[rank[i]]
        total = 0.0
        for i in range(a, b):
            total += np.exp(scores[document[i]] - top)
        for i in range(a, b):
            s = scores[document[i]] - top
            slope[document[i]] += page[p] * mass * np.exp(s) / total
            if click[i] == 1:
                slope[document[i]] -= page[p] * weight[rank[i]]
                value -= page[p] * weight[rank[i]] * (s - np.log(total))
    return value


@kernel
def inverse_relevance(
    offsets: Any, document: Any, rank: Any, click: Any, page: Any, scores: Any, clip: float, sums: Any
) -> None:
    for p in range(len(offsets) - 1):
        a, b = offsets[p], offsets[p + 1]
        if a == b or rank[a] != 0:
            continue
        first = scores[document[a]]
        for i in range(a, b):
            if click[i] == 1:
                sums[0, rank[i]] += page[p] * min(np.exp(first - scores[document[i]]), clip)
            if click[a] == 1:
                sums[1, rank[i]] += page[p]
