"""The hinge over all pairs of all lists, for linear scores: value, gradient and Hessian."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloop.losses.kernels.pair_sums import PairSums, order_of, pair_sums

__all__ = ["HingeProblem"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(slots=True)
class HingeProblem:
    """Pairs (i, j) of a list with `above[i] > below[j]`, weighed by `weight[i]`, under scores `Z @ w`."""

    Z: Floats
    above: Ints
    below: Ints
    weight: Floats
    offsets: Ints

    def hinge(self, scores: Floats) -> tuple[float, Floats]:
        """The sum of hinges and a subgradient by score."""
        sums = self._sums(scores, scores)
        value = self.weight @ (sums.count * (1.0 - scores) + sums.total)
        return float(value), sums.weight - self.weight * sums.count

    def squared(self, w: Floats) -> tuple[float, Floats]:
        """The whole objective, the penalty of `w` included, and its gradient."""
        scores = self.Z @ w
        sums = self._sums(scores, scores)
        missed = self.weight * (sums.count * (1.0 - scores) + sums.total)
        by_score = 2.0 * (sums.weight * (1.0 + scores) - sums.weighted - missed)
        # The sum of squares follows from the sum of hinges: (1 - z)^2 = (1 - z) - z (1 - z).
        value = missed.sum() + 0.5 * (by_score @ scores)
        return float(value + 0.5 * (w @ w)), w + self.Z.T @ by_score

    def hessian(self, w: Floats, direction: Floats) -> Floats:
        """The (generalised) Hessian of `squared` times a direction."""
        change = self.Z @ direction
        sums = self._sums(self.Z @ w, change)
        own = self.weight * sums.count + sums.weight
        by_score = 2.0 * (own * change - self.weight * sums.total - sums.weighted)
        curved: Floats = direction + self.Z.T @ by_score
        return curved

    def _sums(self, scores: Floats, values: Floats) -> PairSums:
        order = order_of(scores, self.offsets)
        return pair_sums(scores, values, self.above, self.below, self.weight, self.offsets, order)
