"""Documents against all documents ranked below them: the vector loops of the logistic pair losses.

A row has, for each lower document, a signed pair weight `x` (positive: the upper document is the
preferred one, negative: the lower one is) and the odds exp(-sigma (s_upper - s_lower)) <= 1. The loops
take whole lists and run from one rank to another: cutting slices would cost more than short rows.
"""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Floats
from rankloop.losses.kernels.math import exp_negative, inline, inner, log1p_of

__all__ = ["affine_row", "logistic_rows", "odds_row", "scale_row", "sign_row", "valued_rows"]


@inner
def affine_row(
    low: int,
    n: int,
    gain: float,
    alpha: float,
    beta: float,
    gains: Floats,
    gamma: Floats,
    shift: int,
    x: Floats,
) -> None:
    """x = (G_i - G_j) (alpha_i - beta_i gamma_j): what a swap of the two would change."""
    back = np.uint64(shift)
    for j in range(np.uint64(low), np.uint64(n)):
        x[j] = (gain - gains[j]) * (alpha - beta * gamma[j - back])


@inner
def sign_row(
    low: int, n: int, label: float, labels: Floats, different: float, equal: float, x: Floats
) -> None:
    """x = +-different by which of the two labels is higher, `equal` where they are equal."""
    for j in range(np.uint64(low), np.uint64(n)):
        higher, lower = np.float64(label > labels[j]), np.float64(label < labels[j])
        x[j] = different * (higher - lower) + equal * (1.0 - higher - lower)


@inner
def scale_row(
    low: int, n: int, weight: float, weights: Floats, score: float, scores: Floats, shrink: float, x: Floats
) -> None:
    """Each pair counts as much as its preferred document, divided by 0.01 + |s_i - s_j| to shrink = 1."""
    for j in range(np.uint64(low), np.uint64(n)):
        gap = shrink * (0.01 + (score - scores[j])) + (1.0 - shrink)
        x[j] *= (weight if x[j] > 0.0 else weights[j]) / gap


@inner
def odds_row(low: int, n: int, score: float, scores: Floats, sigma: float, odds: Floats) -> None:
    """The odds one by one, for scores that span too much for one exponential per document."""
    for j in range(np.uint64(low), np.uint64(n)):
        odds[j] = exp_negative(sigma * (score - scores[j]))


def _logistic_rows(valued: bool) -> Callable[..., tuple[float, float, float]]:
    """Two rows with or without their value, which costs as much as the lambdas."""

    @inline
    def rows(
        i: int,
        end: int,
        second: float,
        most: float,
        scores: Floats,
        lift_a: float,
        lift_b: float,
        odds_a: Floats,
        odds_b: Floats,
        gain: Floats,
        gains: Floats,
        alpha: Floats,
        beta: Floats,
        gamma_a: Floats,
        gamma_b: Floats,
        back_a: int,
        back_b: int,
        gradient: Floats,
        hessian: Floats,
    ) -> tuple[float, float, float]:
        """Lambdas of |x| log(1 + exp(-z)) between ranks i and i + 1 (0-based) and all below.

        The weight of a pair is x = (G_i - G_j) (alpha_i - beta_i gamma_j), cut to +-`most`; its odds are
        `odds * lift`; `second` is 0 where rank i + 1 has no row. The sums: size of the lambdas, value of
        scores in order, and what scores out of order add to it, to be multiplied by sigma.
        """
        a, b = np.uint64(i), np.uint64(i + 1)
        from_a, from_b = np.uint64(back_a), np.uint64(back_b)
        gain_a, alpha_a, beta_a, score_a = gain[a], alpha[a], beta[a], scores[a]
        gain_b, alpha_b, beta_b, score_b = gain[b], second * alpha[b], second * beta[b], scores[b]
        lambda_a, lambda_b, hess_a, hess_b = 0.0, 0.0, 0.0, 0.0
        size, value, behind = 0.0, 0.0, 0.0
        # Every line below is arithmetic on whole vectors: no branch, no library call, no slice.
        for j in range(b, np.uint64(end)):
            x = (gain_a - gains[j]) * (alpha_a - beta_a * gamma_a[j - from_a])
            y = (gain_b - gains[j]) * (alpha_b - beta_b * gamma_b[j - from_b])
            x, y = max(min(x, most), -most), max(min(y, most), -most)
            t, u = odds_a[j] * lift_a, odds_b[j] * lift_b
            q, p = 1.0 / (1.0 + t), 1.0 / (1.0 + u)
            r, s = t * q, u * p
            f, e = x * (r if x > 0.0 else q), y * (s if y > 0.0 else p)
            h, k = abs(f) * (q if x > 0.0 else r), abs(e) * (p if y > 0.0 else s)
            gradient[j] += f + e
            hessian[j] += h + k
            lambda_a += f
            lambda_b += e
            hess_a += h
            hess_b += k
            size += abs(f) + abs(e)
            if valued:
                value += abs(x) * log1p_of(t / (2.0 + t)) + abs(y) * log1p_of(u / (2.0 + u))
                behind += min(x, 0.0) * (scores[j] - score_a) + min(y, 0.0) * (scores[j] - score_b)
        gradient[a] -= lambda_a
        gradient[b] -= lambda_b
        hessian[a] += hess_a
        hessian[b] += hess_b
        return size, value, behind

    return rows


logistic_rows, valued_rows = _logistic_rows(valued=False), _logistic_rows(valued=True)
