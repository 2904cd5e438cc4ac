"""Boosting of single features on a metric."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.scale import Standard

__all__ = ["AdaRank"]

_REST = 10  # iterations


@dataclass(kw_only=True, eq=False, repr=False)
class AdaRank(LinearScores):
    r"""AdaRank (Xu & Li, 2007): queries with a low metric get more weight next.

    Each iteration adds the feature (as it is, or reversed) with the best weighted metric E, with

    .. math:: \alpha = \tfrac12 \ln \frac{\sum_q P_q (1 + E_q)}{\sum_q P_q (1 - E_q)}, \qquad
        P_q \propto e^{-E_q(\text{sum so far})}

    A feature that would not raise the metric of the sum is left out for ten iterations. With a validation
    set the weights that were best on it are kept.

    >>> X, y, qid = [[3.0, 0.1], [1.0, 0.9], [2.0, 0.2], [5.0, 0.7]], [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> AdaRank(metric="mrr").fit(X, y, qid=qid).rank(X[:2])
    array([1, 0])
    """

    metric: str | Metric = "ndcg@10"
    iterations: int = 500
    patience: int = 50

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        objective = Objective.of(self.metric, train)
        if not (objective.metric.higher_is_better and objective.metric.measure.bounded):
            raise ValueError(
                f"AdaRank needs a metric from 0 (bad) to 1 (good), got {objective.metric}; "
                "use one such as ndcg@10 or map, or CoordinateAscent, which takes any"
            )
        standard = Standard.of(train.X)
        Z = standard.apply(train.X)
        selection, selection_Z = objective, Z
        if valid is not None:
            selection, selection_Z = Objective.of(self.metric, valid), standard.apply(valid.X)
        alone = _values_alone(Z, objective)
        known = ~np.isnan(alone[0])
        query = np.ones(train.n_queries) if train.query_weight is None else train.query_weight
        query = np.where(known, query, 0.0).astype(np.float64)
        alone = np.where(known, alone, 0.0)

        weights, share = np.zeros(train.n_features), query / max(query.sum(), 1e-300)
        out_until, reached = np.zeros(len(alone), np.int64), -np.inf
        best, best_value, best_turn, turn = weights, -np.inf, 0, 0
        while turn < self.iterations and turn - best_turn < self.patience and np.any(out_until <= turn):
            merit = np.where(out_until > turn, -np.inf, alone @ share)
            chosen = int(np.argmax(merit))
            good = min(merit[chosen], 1 - 1e-9)
            trial = weights.copy()
            sign = 1.0 if chosen < train.n_features else -1.0
            trial[chosen % train.n_features] += sign * 0.5 * np.log((1 + good) / (1 - good))
            values = np.where(known, objective.values(Z @ trial), 0.0)
            gain = float(query @ values)
            if not gain > reached:
                out_until[chosen] = turn + _REST
                continue
            weights, reached, turn = trial, gain, turn + 1
            share = query * np.exp(-values)
            share /= max(share.sum(), 1e-300)
            value = selection(selection_Z @ weights)
            if value > best_value:
                best, best_value, best_turn = weights, value, turn
        self._learned(best, standard, best_turn)


def _values_alone(Z: Floats, objective: Objective) -> Floats:
    """The metric of every query by each feature alone, then by each feature reversed."""
    features = np.ascontiguousarray(Z.T)
    return np.array([objective.values(sign * feature) for sign in (1.0, -1.0) for feature in features])
