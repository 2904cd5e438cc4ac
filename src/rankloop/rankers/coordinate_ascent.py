"""Linear scores that climb a metric one weight at a time."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.scale import Standard

__all__ = ["CoordinateAscent"]


@dataclass(kw_only=True, eq=False, repr=False)
class CoordinateAscent(LinearScores):
    r"""Coordinate ascent on any metric (Metzler & Croft, 2007), restarted from random weights.

    One weight at a time is moved by plus or minus `step` · 2^i (i below `doublings`) or set to 0, whichever
    gives the highest metric. A start ends when an iteration over all features gains less than `tolerance`.
    The best start by the validation set, or else by the training set, is kept.

    >>> X, y, qid = [[3.0, 0.1], [1.0, 0.9], [2.0, 0.2], [5.0, 0.7]], [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> CoordinateAscent(metric="mrr", restarts=1).fit(X, y, qid=qid).rank(X[:2])
    array([1, 0])
    """

    metric: str | Metric = "ndcg@10"
    restarts: int = 3
    step: float = 0.05
    doublings: int = 8
    tolerance: float = 1e-3
    iterations: int = 25
    seed: int = 0

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        if self.restarts < 1 or self.doublings < 1 or not self.step > 0:
            raise ValueError("restarts, doublings and step must be above 0")
        standard = Standard.of(train.X)
        Z = np.asfortranarray(standard.apply(train.X))
        objective = Objective.of(self.metric, train)
        selection = objective if valid is None else Objective.of(self.metric, valid)
        selection_Z = Z if valid is None else standard.apply(valid.X)
        rng = np.random.default_rng(self.seed)
        best, best_value, best_iterations = np.zeros(train.n_features), -np.inf, 0
        with progress("coordinate ascent", total=self.restarts) as advance:
            for start in range(self.restarts):
                weights = np.ones(train.n_features) if start == 0 else rng.normal(size=train.n_features)
                weights, iterations = self._climb(_unit(weights), Z, objective, rng)
                value = selection(selection_Z @ weights)
                if value > best_value or start == 0:
                    best, best_value, best_iterations = weights, value, iterations
                advance(1, f"{objective.metric} {abs(best_value):.4f}")
        self._learned(best, standard, best_iterations)

    def _climb(
        self, weights: Floats, Z: Floats, objective: Objective, rng: np.random.Generator
    ) -> tuple[Floats, int]:
        reach = self.step * 2.0 ** np.arange(self.doublings)
        value = objective(Z @ weights)
        iteration = 0
        for iteration in range(1, self.iterations + 1):  # noqa: B007 # the number is returned too
            before = value
            for feature in rng.permutation(len(weights)):
                scores = Z @ weights
                moves = [*reach, *-reach, -weights[feature]] if weights[feature] else [*reach, *-reach]
                found = [objective(scores + move * Z[:, feature]) for move in moves]
                if max(found) > value:
                    value = max(found)
                    weights[feature] += moves[int(np.argmax(found))]
                    weights = _unit(weights)
            if not value - before >= self.tolerance:
                break
        return weights, iteration


def _unit(weights: Floats) -> Floats:
    """Absolute weights that sum to 1: the order does not depend on their scale, the steps do."""
    total = np.abs(weights).sum()
    return weights / total if total > 0 else weights
