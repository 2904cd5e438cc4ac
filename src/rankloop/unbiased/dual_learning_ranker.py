"""The dual learning algorithm, around any ranker."""

import numpy as np
from sklearn.base import clone

from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.rankers import LinearRanker
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.clipped import clipped
from rankloop.unbiased.estimation.evidence import Floats

__all__ = ["dual_learning"]


def dual_learning(
    log: ClickLog,
    data: RankingDataset,
    *,
    ranker: Ranker | None = None,
    iterations: int = 50,
    clip: float = 100.0,
) -> Ranker:
    r"""DLA (Ai et al., 2018): relevance takes the bias out of positions, and positions out of relevance.

    .. math:: L_R = -\sum_{c_d = 1} \frac{t_1}{t_{k(d)}} \log \mathrm{softmax}(s)_d, \qquad
        L_E = -\sum_{c_d = 1} \frac{r_1}{r_d} \log \mathrm{softmax}(g)_{k(d)}

    No weight exceeds `clip`. Each side is brought to its minimum in turn (that of :math:`L_E` has a closed
    form), so that there is no step size and no state of an optimiser to lose. `ranker` is any with the loss
    "softmax": linear unless given. `propensity_` is the curve. Relevance and position must vary apart: where
    the logger knows what is relevant and the ranker does not fit it, the curve comes out too flat.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=100, docs_per_query=5, n_features=5, seed=0)
    >>> log = simulate(data, logging_policy=np.zeros(data.n_documents), sessions=5000, k=4, seed=0)
    >>> dual_learning(log, data).propensity_.round(1)
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
    """Clicks at k by the inverse of relevance, over clicks at rank 1 on the pages that show rank k."""
    first = log.offsets[:-1]
    used = np.repeat(log.position[first] == 1, log.lengths)
    inverse = np.minimum(np.exp(np.minimum(np.repeat(scores[first], log.lengths) - scores, 700.0)), clip)
    at_first = np.repeat(log.click[first], log.lengths)
    rank = log.position[used] - 1
    above = np.bincount(rank, (log.click * inverse)[used], log.n_positions)
    below = np.bincount(rank, at_first[used], log.n_positions)
    curve = np.maximum(above, 0.5) / np.maximum(below, 0.5)
    return np.asarray(curve / curve[0], np.float64)
