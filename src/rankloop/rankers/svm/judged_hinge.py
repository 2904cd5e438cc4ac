"""The hinge over pairs that judges named: value, gradient and Hessian for linear scores."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["JudgedHinge"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(slots=True)
class JudgedHinge:
    """Pairs (`better[k]`, `worse[k]`), weighed, for scores `Z @ w`; called as `HingeProblem` is."""

    Z: Floats
    better: Ints
    worse: Ints
    weight: Floats

    def hinge(self, scores: Floats) -> tuple[float, Floats]:
        missed = 1.0 - (scores[self.better] - scores[self.worse])
        active = missed > 0
        return float(self.weight[active] @ missed[active]), self._spread(-self.weight * active)

    def squared(self, w: Floats) -> tuple[float, Floats]:
        scores = self.Z @ w
        missed = np.maximum(1.0 - (scores[self.better] - scores[self.worse]), 0.0)
        value = self.weight @ missed**2 + 0.5 * (w @ w)
        return float(value), w + self.Z.T @ self._spread(-2.0 * self.weight * missed)

    def hessian(self, w: Floats, direction: Floats) -> Floats:
        scores, change = self.Z @ w, self.Z @ direction
        active = scores[self.better] - scores[self.worse] < 1.0
        bend = 2.0 * self.weight * active * (change[self.better] - change[self.worse])
        curved: Floats = direction + self.Z.T @ self._spread(bend)
        return curved

    def _spread(self, by_pair: Floats) -> Floats:
        """What pairs do to their documents: the better one gets it, the other its opposite."""
        rows = len(self.Z)
        gained = np.bincount(self.better, by_pair, rows) - np.bincount(self.worse, by_pair, rows)
        return gained.astype(np.float64)
