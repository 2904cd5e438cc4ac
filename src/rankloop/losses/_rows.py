"""One document against all documents ranked below it: the vector loops of the logistic pair losses.

A row holds, for each lower document, a signed pair weight `x` (positive: the upper document is the
preferred one, negative: the lower one is) and the odds `t = exp(-sigma (s_upper - s_lower)) <= 1`.
"""

import numpy as np
from numpy.typing import NDArray

from rankloop.losses._math import exp_negative, inner, log1p_unit

__all__ = ["affine_row", "logistic_row", "odds_row", "scale_row", "sign_row"]

Row = NDArray[np.float64]


@inner
def affine_row(gain: float, alpha: float, beta: float, gains: Row, gamma: Row, x: Row) -> None:
    """x = (G_i - G_j) (alpha_i - beta_i gamma_j): what a swap of the two would change."""
    for j in range(gains.size):
        x[j] = (gain - gains[j]) * (alpha - beta * gamma[j])


@inner
def sign_row(label: float, labels: Row, different: float, equal: float, x: Row) -> None:
    """x = +-different by which of the two labels is higher, `equal` where they are equal."""
    for j in range(labels.size):
        higher, lower = np.float64(label > labels[j]), np.float64(label < labels[j])
        x[j] = different * (higher - lower) + equal * (1.0 - higher - lower)


@inner
def scale_row(weight: float, weights: Row, score: float, scores: Row, shrink: float, x: Row) -> None:
    """Each pair counts as much as its preferred document, divided by 0.01 + |s_i - s_j| to shrink = 1."""
    for j in range(x.size):
        gap = shrink * (0.01 + (score - scores[j])) + (1.0 - shrink)
        x[j] *= (weight if x[j] > 0.0 else weights[j]) / gap


@inner
def odds_row(near: bool, odds: float, all_odds: Row, score: float, scores: Row, sigma: float, t: Row) -> None:
    """From one exponential a document, exp(a - b) = exp(a) / exp(b), unless the scores span too much."""
    if near:
        inverse = 1.0 / odds
        for j in range(t.size):
            t[j] = all_odds[j] * inverse
    else:
        for j in range(t.size):
            t[j] = exp_negative(sigma * (score - scores[j]))


@inner
def logistic_row(
    score: float, scores: Row, sigma: float, t: Row, x: Row, gradient: Row, curvature: Row
) -> tuple[float, float, float, float]:
    """Forces of |x| log(1 + exp(-z)), added to the lower documents and summed for the row's own.

    The sums: force, curvature, size of the forces, and value.
    """
    force, bend, size, value = 0.0, 0.0, 0.0, 0.0
    for j in range(t.size):
        q = 1.0 / (1.0 + t[j])
        r = t[j] * q
        f = x[j] * (r if x[j] > 0.0 else q)
        h = abs(x[j]) * (r * q)
        gradient[j] += f
        curvature[j] += h
        force += f
        bend += h
        size += abs(f)
        behind = 0.0 if x[j] > 0.0 else sigma * (score - scores[j])
        value += abs(x[j]) * (log1p_unit(t[j]) + behind)
    return force, bend, size, value
