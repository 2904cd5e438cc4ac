"""Regression-EM, around any pointwise ranker."""

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from rankloop.data import RankingDataset
from rankloop.losses import SigmoidCrossEntropy
from rankloop.rankers import LinearRanker
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.estimation.cells import next_curve
from rankloop.unbiased.estimation.evidence import Log, evidence
from rankloop.unbiased.estimation.labels import rows_of

__all__ = ["regression_em_ranker"]


def regression_em_ranker(
    log: Log, data: RankingDataset, *, ranker: Ranker | None = None, iterations: int = 30
) -> Ranker:
    r"""Regression-EM (Wang et al., 2018) for :math:`P(c = 1) = \theta_k \, \sigma(f(x))`.

    Expectation: a document that was not clicked was relevant with probability :math:`\gamma (1 - \theta) / (1
    - \theta \gamma)` and examined with probability :math:`\theta (1 - \gamma) / (1 - \theta \gamma)`.
    Maximisation: the curve is the share of impressions that were examined, and the `ranker` (linear unless
    given; its loss is "sigmoidcrossentropy") is fitted to the expected relevance, where the paper samples
    from it. `propensity_` is the curve. `likelihood` does the same with trees in one pass.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=200, docs_per_query=5, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=9000, k=4, seed=0)
    >>> regression_em_ranker(log, data).propensity_.round(1)
    array([1. , 0.5, 0.3, 0.2])
    """
    if iterations < 1:
        raise ValueError(f"iterations is at least 1, got {iterations}")
    loss = SigmoidCrossEntropy(max_label=1.0)
    chosen = LinearRanker(loss=loss, l2=1e-6) if ranker is None else ranker
    seen = evidence(log, None, data)
    rank, kept = seen.position - 1, seen.shown
    by_row = np.maximum(seen.by_row(seen.impressions), 1.0)
    curve = 1.0 / np.sqrt(np.arange(1.0, rank.max() + 2))
    gamma = np.full(data.n_documents, 0.5)
    for _ in range(iterations):
        theta, relevant = curve[rank], gamma[seen.row]
        missed = np.maximum(1 - theta * relevant, 1e-12)
        skipped = seen.impressions - seen.clicks
        expected = seen.by_row(seen.clicks + skipped * relevant * (1 - theta) / missed) / by_row
        curve = next_curve(curve, rank, seen.impressions, seen.clicks, theta, relevant)
        train = rows_of(data, kept, expected)
        weight = by_row[kept] / by_row[kept].mean()
        fitted: Ranker = clone(chosen).fit(train.replace(item_weight=weight))
        gamma = expit(fitted.predict(data))
    fitted.propensity_ = curve / curve[0]
    return fitted
