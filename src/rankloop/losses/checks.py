"""Two tests of lambda gradients: whether a result is a local optimum, and whether lambdas are a gradient."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._student import check_confidence
from rankloop.losses.loss import Loss
from rankloop.losses.loss import loss as find

__all__ = ["LocalOptimum", "local_optimum", "symmetry"]


class LocalOptimum(NamedTuple):
    """How many random directions raised the metric, and the bound that follows for all directions."""

    holds: bool  # the share of directions that raise the metric is below `tolerance`, at `confidence`
    raised: int
    directions: int
    share: float  # upper bound on the share of raising directions, at `confidence`
    largest_gain: float


def local_optimum(
    score: Callable[[Floats], Floats],
    weights: ArrayLike,
    metric: Callable[[Floats], float],
    *,
    step: float = 0.1,
    grain: float = 0.0,
    directions: int = 459,
    confidence: float = 0.99,
    tolerance: float = 0.01,
    seed: int = 0,
) -> LocalOptimum:
    """One-sided Monte-Carlo test of local optimality (Donmez et al., 2009).

    Moves the weights by `step` along random directions of the unit sphere and counts how often `metric` of
    the scores rises. If none of 459 directions raises it, fewer than 1 % of all directions do, at 99 %
    confidence (0.99^459 < 0.01); in general the bound is Clopper and Pearson's. A metric over few lists is a
    noisy step function: `step` should span many of its steps, and rises of up to `grain` do not count.

    >>> peak = np.array([1.0, -1.0])
    >>> local_optimum(lambda w: w - peak, peak, lambda s: -float(s @ s)).holds
    True
    >>> local_optimum(lambda w: w - peak, peak + 1.0, lambda s: -float(s @ s)).raised > 200
    True
    """
    from scipy.stats import beta

    check_confidence(confidence)
    at = np.asarray(weights, dtype=np.float64)
    rng = np.random.default_rng(seed)
    here, raised, largest = metric(score(at)), 0, 0.0
    for _ in range(directions):
        way = rng.normal(size=at.shape)
        gain = metric(score(at + step * way / np.linalg.norm(way))) - here
        raised += gain > grain
        largest = max(largest, gain)
    share = 1.0 if raised == directions else float(beta.ppf(confidence, raised + 1, directions - raised))
    return LocalOptimum(share < tolerance, int(raised), directions, share, largest)


def symmetry(loss: str | Loss, scores: ArrayLike, labels: ArrayLike, *, step: float = 1e-5) -> float:
    r"""The largest asymmetry of the lambdas of one list, relative to their largest derivative.

    By the lemma of Poincaré (Burges et al., 2006) the lambdas are the gradient of some cost if and only
    if :math:`\partial \lambda_i / \partial s_j = \partial \lambda_j / \partial s_i` for all pairs.
    LambdaRank fulfils it as long as the sort does not change, so `step` must be smaller than half of the
    smallest gap between two scores.

    >>> symmetry("lambdarank", [2.0, 1.0, 3.0], [2, 0, 1]) < 1e-6
    True
    >>> symmetry("lambdarank(norm_gap=true)", [2.0, 1.0, 3.0], [2, 0, 1]) < 1e-6
    True
    >>> symmetry("lambdarank(norm_list=true)", [2.0, 1.0, 3.0], [2, 0, 1]) < 1e-6
    False
    """
    chosen, at = find(loss), np.asarray(scores, dtype=np.float64)
    gaps = np.diff(np.sort(at))
    if gaps.size and gaps.min() <= 2 * step:
        raise ValueError(
            f"the sort must stay fixed: scores lie {gaps.min():g} apart, a step of {step:g} could change it"
        )
    offsets = np.array([0, len(at)])
    slopes = np.empty((len(at), len(at)))
    for j in range(len(at)):
        moved = np.zeros(len(at))
        moved[j] = step
        above, below = (chosen(at + way * moved, labels, offsets).gradient for way in (1.0, -1.0))
        slopes[:, j] = (above - below) / (2 * step)
    largest = np.abs(slopes).max()
    return float(np.abs(slopes - slopes.T).max() / largest) if largest > 0 else 0.0
