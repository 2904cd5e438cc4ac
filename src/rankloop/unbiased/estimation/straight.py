"""One weight per feature, fitted to the likelihood of clicks: the simplest of the corrections."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit

from rankloop._arrays import Bools, Floats
from rankloop.unbiased.estimation.evidence import Evidence

__all__ = ["Straight", "added", "straight"]

FAR = 5.0  # standard deviations from the mean, beyond which a feature counts as so far away
ITERATIONS = 200  # of L-BFGS
NEAR = 0.1  # the precision of the effect of a rank


@dataclass(frozen=True, eq=False)
class Straight:
    """Scores that are linear in the features, within `FAR` deviations; a missing one adds nothing."""

    mean: Floats
    spread: Floats
    weights: Floats

    def predict(self, X: ArrayLike) -> Floats:
        return np.asarray(_standard(X, self.mean, self.spread) @ self.weights, np.float64)

    def trees(self) -> list[str]:
        """The same scores as trees of LightGBM: one for each feature with a weight.

        A tree has three leaves: below and above the range of the feature a constant, within it a line. A
        missing value gets to the line, which has the value 0 for it.
        """
        return [
            _tree(feature, float(self.mean[feature]), float(self.spread[feature]), float(weight))
            for feature, weight in enumerate(self.weights)
            if weight != 0 and np.isfinite(self.spread[feature])
        ]


def straight(seen: Evidence, kept: Bools, *, towers: bool = False) -> Straight:
    r"""Weights by the likelihood of :math:`\alpha \sigma(a + x w) + \beta`, on the cells whose row is kept.

    With `towers` clicks have the chance :math:`\sigma(g_k + x w)`; the effects of the ranks are learned. The
    prior of the weights is that of scores with a standard deviation of 1, however many features there are.
    """
    data, cells = seen.data, kept[seen.row]
    row, rows = (np.cumsum(kept) - 1)[seen.row[cells]], int(kept.sum())
    some = np.asarray(data.X[kept], np.float64)
    with np.errstate(invalid="ignore"):
        held = np.isfinite(some)
        count = np.maximum(held.sum(axis=0), 1)
        mean = np.where(held, some, 0.0).sum(axis=0) / count
        spread = np.sqrt((np.where(held, some - mean, 0.0) ** 2).sum(axis=0) / count)
    spread = np.where(
        spread > 1e-9 * np.maximum(np.abs(mean), 1.0), spread, np.inf
    )  # a constant says nothing
    A = _standard(some, mean, spread).astype(np.float32)
    n, c = seen.impressions[cells], seen.clicks[cells]
    alpha, beta = np.minimum(seen.alpha[cells], 1.0), seen.beta[cells]
    rank, depth = seen.position[cells].astype(np.int64) - 1, int(seen.position.max())
    features, levels = A.shape[1], depth if towers else 1

    def cost(p: Floats) -> tuple[float, Floats]:
        w, level = p[:features], p[features:]
        score = (A @ w.astype(np.float32)).astype(np.float64)[row]
        relevance = expit(score + (level[rank] if towers else level[0]))
        slope = relevance * (1 - relevance) if towers else alpha * relevance * (1 - relevance)
        chance = np.clip(relevance if towers else alpha * relevance + beta, 1e-9, 1 - 1e-9)
        value = -float((c * np.log(chance) + (n - c) * np.log1p(-chance)).sum())
        inner = (n * chance - c) / (chance * (1 - chance)) * slope
        by_weight = np.bincount(row, inner, rows).astype(np.float32) @ A
        off = level - level.mean()
        by_level = np.bincount(rank, inner, depth) + NEAR * off if towers else np.array([inner.sum()])
        value += 0.5 * features * float(w @ w) + 0.5 * NEAR * float(off @ off)
        return value, np.concatenate((by_weight + features * w, by_level))

    start = np.zeros(features + levels)
    rate = float(np.clip(c.sum() / n.sum(), 1e-6, 1 - 1e-6))
    start[features:] = np.log(rate / (1 - rate))
    with np.errstate(invalid="ignore"):  # A is finite; BLAS sets the flag for lanes that it pads and drops
        found = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS})
    return Straight(mean, spread, np.asarray(found.x[:features], np.float64))


def added(parts: Sequence[Straight], weights: Sequence[float]) -> Straight:
    """The weighted sum of scores that were fitted to the same rows, as one."""
    first = parts[0]
    assert all(np.array_equal(one.mean, first.mean) for one in parts)
    total = np.sum([weight * one.weights for one, weight in zip(parts, weights, strict=True)], axis=0)
    return Straight(first.mean, first.spread, np.asarray(total, np.float64))


def _standard(X: ArrayLike, mean: Floats, spread: Floats) -> Floats:
    away = np.clip((np.asarray(X, np.float64) - mean) / spread, -FAR, FAR)
    return np.nan_to_num(away)


def _tree(feature: int, mean: float, spread: float, weight: float) -> str:
    """LightGBM's text of a tree: x <= high, and below it x <= low; 10 and 8 send missing values inside."""
    low, high, slope = mean - FAR * spread, mean + FAR * spread, weight / spread
    lines = {
        "num_leaves": "3",
        "num_cat": "0",
        "split_feature": f"{feature} {feature}",
        "split_gain": "1 1",
        "threshold": f"{high!r} {low!r}",
        "decision_type": "10 8",
        "left_child": "1 -1",
        "right_child": "-2 -3",
        "leaf_value": f"{-FAR * weight!r} {FAR * weight!r} 0",
        "leaf_weight": "1 1 1",
        "leaf_count": "1 1 1",
        "internal_value": "0 0",
        "internal_weight": "3 2",
        "internal_count": "3 2",
        "is_linear": "1",
        "leaf_const": f"{-FAR * weight!r} {FAR * weight!r} {-slope * mean!r}",
        "num_features": "0 0 1",
        "leaf_features": f"  {feature} ",
        "leaf_coeff": f"  {slope!r} ",
        "shrinkage": "1",
    }
    return "\n".join(f"{name}={value}" for name, value in lines.items())
