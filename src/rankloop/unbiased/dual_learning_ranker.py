"""The dual learning algorithm, around any ranker."""

import numpy as np
from sklearn.base import clone

from rankloop._arrays import Floats
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity.dual_learning import inverse_relevance
from rankloop.rankers import LinearRanker
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.clipped import clipped

__all__ = ["dual_learning_ranker"]


def dual_learning_ranker(
    log: ClickLog,
    data: RankingDataset,
    *,
    ranker: Ranker | None = None,
    iterations: int = 50,
    clip: float = 100.0,
) -> Ranker:
    r"""DLA (Ai et al., 2018): inverse relevance weights for positions, inverse propensities for relevance.

    .. math:: L_R = -\sum_{c_d = 1} \frac{t_1}{t_{k(d)}} \log \mathrm{softmax}(s)_d, \qquad
        L_E = -\sum_{c_d = 1} \frac{r_1}{r_d} \log \mathrm{softmax}(g)_{k(d)}

    No weight exceeds `clip`. The two losses are minimised in turn (that of :math:`L_E` in closed form), so
    there is no step size. `ranker` is any with the loss "softmax": linear unless given. `propensity_` is the
    curve. Relevance and position must vary independently: where the logging policy knows relevance that the
    ranker does not fit, the curve is too flat.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=100, docs_per_query=5, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=5000, k=4, seed=0)
    >>> dual_learning_ranker(log, data).propensity_.round(1)
    array([1. , 0.5, 0.3, 0.2])
    """
    if iterations < 1 or not clip >= 1:
        raise ValueError(f"iterations and clip are at least 1, got {iterations} and {clip}")
    chosen = LinearRanker(loss="softmax") if ranker is None else ranker
    curve = _examination(log, np.zeros(len(log)), clip)
    for _ in range(iterations):
        fitted: Ranker = clone(chosen).fit(clipped(log, curve, data, tau=1.0 / clip))
        before, curve = curve, _examination(log, fitted.predict(data)[log.rows(data)], clip)
        if np.abs(np.log(curve / before)).max() < 1e-4:
            break
    fitted.propensity_ = curve
    return fitted


def _examination(log: ClickLog, scores: Floats, clip: float) -> Floats:
    """Clicks at k by inverse relevance, over clicks at rank 1 on the pages that show rank k."""
    sums = np.zeros((2, log.n_positions))
    rank = log.position.astype(np.int64) - 1
    inverse_relevance(
        log.offsets, np.arange(len(log)), rank, log.click, np.ones(log.n_pages), scores, clip, sums
    )
    curve = np.maximum(sums[0], 0.5) / np.maximum(sums[1], 0.5)
    return np.asarray(curve / curve[0], np.float64)
