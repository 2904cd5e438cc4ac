"""The sum of hinges over explicit pairs."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints

__all__ = ["ExplicitHinge"]


@dataclass(slots=True)
class ExplicitHinge:
    """Pairs (`better[k]`, `worse[k]`) with their weights: a `HingeProblem`."""

    Z: Floats
    better: Ints
    worse: Ints
    weight: Floats

    def hinge(self, scores: Floats) -> tuple[float, Floats]:
        missed = 1.0 - (scores[self.better] - scores[self.worse])
        active = missed > 0
        return float(self.weight[active] @ missed[active]), self._by_document(-self.weight * active)

    def squared(self, w: Floats) -> tuple[float, Floats]:
        scores = self.Z @ w
        missed = np.maximum(1.0 - (scores[self.better] - scores[self.worse]), 0.0)
        value = self.weight @ missed**2 + 0.5 * (w @ w)
        return float(value), w + self.Z.T @ self._by_document(-2.0 * self.weight * missed)

    def hessian(self, w: Floats, direction: Floats) -> Floats:
        scores, change = self.Z @ w, self.Z @ direction
        active = scores[self.better] - scores[self.worse] < 1.0
        second = 2.0 * self.weight * active * (change[self.better] - change[self.worse])
        product: Floats = direction + self.Z.T @ self._by_document(second)
        return product

    def _by_document(self, by_pair: Floats) -> Floats:
        """Sums over the pairs of each document: plus as the better one, minus as the other."""
        rows = len(self.Z)
        total = np.bincount(self.better, by_pair, rows) - np.bincount(self.worse, by_pair, rows)
        return total.astype(np.float64)
