"""One document against all documents ranked below it: the vector loops of the logistic pair losses.

A row holds, for each lower document, a signed pair weight `x` (positive: the upper document is the
preferred one, negative: the lower one is) and the odds exp(-sigma (s_upper - s_lower)) <= 1. The loops
take whole lists and run from rank `low` to rank `n`: cutting slices would cost more than short rows.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankloop.losses._math import exp_negative, inner, log1p_of

__all__ = ["affine_row", "logistic_row", "odds_row", "scale_row", "sign_row", "valued_row"]

Row = NDArray[np.float64]


@inner
def affine_row(
    low: int, n: int, gain: float, alpha: float, beta: float, gains: Row, gamma: Row, shift: int, x: Row
) -> None:
    """x = (G_i - G_j) (alpha_i - beta_i gamma_j): what a swap of the two would change."""
    back = np.uint64(shift)
    for j in range(np.uint64(low), np.uint64(n)):
        x[j] = (gain - gains[j]) * (alpha - beta * gamma[j - back])


@inner
def sign_row(low: int, n: int, label: float, labels: Row, different: float, equal: float, x: Row) -> None:
    """x = +-different by which of the two labels is higher, `equal` where they are equal."""
    for j in range(np.uint64(low), np.uint64(n)):
        higher, lower = np.float64(label > labels[j]), np.float64(label < labels[j])
        x[j] = different * (higher - lower) + equal * (1.0 - higher - lower)


@inner
def scale_row(
    low: int, n: int, weight: float, weights: Row, score: float, scores: Row, shrink: float, x: Row
) -> None:
    """Each pair counts as much as its preferred document, divided by 0.01 + |s_i - s_j| to shrink = 1."""
    for j in range(np.uint64(low), np.uint64(n)):
        gap = shrink * (0.01 + (score - scores[j])) + (1.0 - shrink)
        x[j] *= (weight if x[j] > 0.0 else weights[j]) / gap


@inner
def odds_row(low: int, n: int, score: float, scores: Row, sigma: float, odds: Row) -> None:
    """The odds one by one, for scores that span too much for one exponential a document."""
    for j in range(np.uint64(low), np.uint64(n)):
        odds[j] = exp_negative(sigma * (score - scores[j]))


def _logistic_row(valued: bool) -> Callable[..., tuple[float, float, float, float]]:
    """A row with or without its value, which costs as much as the forces."""

    @inner
    def row(
        low: int,
        n: int,
        score: float,
        scores: Row,
        sigma: float,
        inverse: float,
        odds: Row,
        x: Row,
        gradient: Row,
        curvature: Row,
    ) -> tuple[float, float, float, float]:
        """Forces of |x| log(1 + exp(-z)), added to the lower documents and summed for the row's own.

        The odds are `odds * inverse`. The sums: force, curvature, size of the forces, and value. One division
        gives both 1 / (1 + t) and the t / (2 + t) that the logarithm wants.
        """
        force, bend, size, value = 0.0, 0.0, 0.0, 0.0
        for j in range(np.uint64(low), np.uint64(n)):
            t = odds[j] * inverse
            one, two = 1.0 + t, 2.0 + t if valued else 1.0
            shared = 1.0 / (one * two)
            q = two * shared
            r = t * q
            f = x[j] * (r if x[j] > 0.0 else q)
            h = abs(x[j]) * (r * q)
            gradient[j] += f
            curvature[j] += h
            force += f
            bend += h
            size += abs(f)
            if valued:
                behind = 0.0 if x[j] > 0.0 else sigma * (score - scores[j])
                value += abs(x[j]) * (log1p_of(t * one * shared) + behind)
        return force, bend, size, value

    return row


logistic_row, valued_row = _logistic_row(valued=False), _logistic_row(valued=True)
