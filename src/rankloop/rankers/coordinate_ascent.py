"""Linear scores that climb a metric one weight at a time."""

import numpy as np
from numpy.typing import NDArray

from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.scale import Standard

__all__ = ["CoordinateAscent"]


class CoordinateAscent(LinearScores):
    r"""Coordinate ascent on any metric (Metzler & Croft, 2007), restarted from random weights.

    One weight at a time is moved by plus or minus `step` · 2^i, or set to 0, and keeps the place where the
    metric is highest; a start ends when a round over all features gains less than `tol`. The best start by
    the validation set, or else by the training set, is kept.

    >>> X, y, qid = [[3.0, 0.1], [1.0, 0.9], [2.0, 0.2], [5.0, 0.7]], [0, 1, 0, 1], ["a", "a", "b", "b"]
    >>> CoordinateAscent(metric="mrr", restarts=1).fit(X, y, qid=qid).rank(X[:2])
    array([1, 0])
    """

    def __init__(
        self,
        *,
        metric: str | Metric = "ndcg@10",
        restarts: int = 3,
        step: float = 0.05,
        steps: int = 8,
        tol: float = 1e-3,
        max_rounds: int = 25,
        seed: int = 0,
    ) -> None:
        self.metric = metric
        self.restarts = restarts
        self.step = step
        self.steps = steps
        self.tol = tol
        self.max_rounds = max_rounds
        self.seed = seed

    def _fit(self, train: RankingDataset, valid: RankingDataset | None) -> None:
        if self.restarts < 1 or self.steps < 1 or not self.step > 0:
            raise ValueError("restarts, steps and step must be above 0")
        standard = Standard.of(train.X)
        Z = np.asfortranarray(standard.apply(train.X))
        raised = Objective.of(self.metric, train)
        judged = raised if valid is None else Objective.of(self.metric, valid)
        judged_Z = Z if valid is None else standard.apply(valid.X)
        rng = np.random.default_rng(self.seed)
        best, best_value, best_rounds = np.zeros(train.n_features), -np.inf, 0
        with progress("coordinate ascent", total=self.restarts) as advance:
            for start in range(self.restarts):
                weights = np.ones(train.n_features) if start == 0 else rng.normal(size=train.n_features)
                weights, rounds = self._climb(_unit(weights), Z, raised, rng)
                value = judged(judged_Z @ weights)
                if value > best_value or start == 0:
                    best, best_value, best_rounds = weights, value, rounds
                advance(1, f"{raised.metric} {abs(best_value):.4f}")
        self._learned(best, standard, best_rounds)

    def _climb(
        self,
        weights: NDArray[np.float64],
        Z: NDArray[np.float64],
        raised: Objective,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.float64], int]:
        reach = self.step * 2.0 ** np.arange(self.steps)
        value = raised(Z @ weights)
        rounds = 0
        for rounds in range(1, self.max_rounds + 1):  # noqa: B007 # the number of rounds is an answer too
            before = value
            for feature in rng.permutation(len(weights)):
                scores = Z @ weights
                moves = [*reach, *-reach, -weights[feature]] if weights[feature] else [*reach, *-reach]
                found = [raised(scores + move * Z[:, feature]) for move in moves]
                if max(found) > value:
                    value = max(found)
                    weights[feature] += moves[int(np.argmax(found))]
                    weights = _unit(weights)
            if not value - before >= self.tol:
                break
        return weights, rounds


def _unit(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Absolute weights that sum to 1: the order does not depend on their scale, the steps do."""
    total = np.abs(weights).sum()
    return weights / total if total > 0 else weights
