"""Sums of hinges over pairs, for linear scores: value, gradient and Hessian."""

from dataclasses import dataclass
from typing import Protocol

from rankloop._arrays import Floats, Ints
from rankloop.losses.kernels.pair_sums import PairSums, order_of, pair_sums

__all__ = ["HingeProblem", "LabelHinge"]


class HingeProblem(Protocol):
    """Pairs of documents with features `Z`, under scores `Z @ w`."""

    Z: Floats

    def hinge(self, scores: Floats) -> tuple[float, Floats]:
        """The sum of hinges and a subgradient by score."""

    def squared(self, w: Floats) -> tuple[float, Floats]:
        """The sum of squared hinges with the penalty of `w`, and its gradient."""

    def hessian(self, w: Floats, direction: Floats) -> Floats:
        """The (generalised) Hessian of `squared` times a direction."""


@dataclass(slots=True)
class LabelHinge:
    """All pairs (i, j) of a list with `above[i] > below[j]`, of weight `weight[i]`, in O(n log n)."""

    Z: Floats
    above: Ints
    below: Ints
    weight: Floats
    offsets: Ints

    def hinge(self, scores: Floats) -> tuple[float, Floats]:
        sums = self._sums(scores, scores)
        value = self.weight @ (sums.count * (1.0 - scores) + sums.total)
        return float(value), sums.weight - self.weight * sums.count

    def squared(self, w: Floats) -> tuple[float, Floats]:
        scores = self.Z @ w
        sums = self._sums(scores, scores)
        missed = self.weight * (sums.count * (1.0 - scores) + sums.total)
        by_score = 2.0 * (sums.weight * (1.0 + scores) - sums.weighted - missed)
        # The sum of squares follows from the sum of hinges: (1 - z)^2 = (1 - z) - z (1 - z).
        value = missed.sum() + 0.5 * (by_score @ scores)
        return float(value + 0.5 * (w @ w)), w + self.Z.T @ by_score

    def hessian(self, w: Floats, direction: Floats) -> Floats:
        change = self.Z @ direction
        sums = self._sums(self.Z @ w, change)
        own = self.weight * sums.count + sums.weight
        by_score = 2.0 * (own * change - self.weight * sums.total - sums.weighted)
        product: Floats = direction + self.Z.T @ by_score
        return product

    def _sums(self, scores: Floats, values: Floats) -> PairSums:
        order = order_of(scores, self.offsets)
        return pair_sums(scores, values, self.above, self.below, self.weight, self.offsets, order)
