"""The confidence of an interval, and quantiles of Student's t (SciPy's take a tenth of a second to load)."""

import math
from statistics import NormalDist

__all__ = ["check_confidence", "student_quantile"]

_MANY = 1000.0  # degrees of freedom from which the series below is exact to the last digits


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, got {confidence}; 0.95 is usual")


def student_quantile(freedom: float, share: float) -> float:
    """The value that t with so many degrees of freedom (1 or more) stays below with probability `share`.

    >>> round(student_quantile(4, 0.975), 4)
    2.7764
    """
    if not 0 < share < 1:
        return math.nan if not 0 <= share <= 1 else math.copysign(math.inf, share - 0.5)
    if share <= 0.5:
        return -student_quantile(freedom, 1 - share) if share < 0.5 else 0.0
    normal = NormalDist().inv_cdf(share)
    if freedom >= _MANY:
        return _series(normal, freedom)
    # The chance of a larger value falls ever slower: Newton's steps from below never go too far.
    value, rest = normal, 1 - share
    for _ in range(200):
        step = (_beyond(value, freedom) - rest) / _density(value, freedom)
        value += step
        if step <= 1e-15 * value:
            break
    return value


def _series(z: float, freedom: float) -> float:
    """Cornish and Fisher's expansion around the normal quantile (Abramowitz and Stegun, 26.7.5)."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term * (1 / freedom) ** power for power, term in enumerate(terms, 1))


def _density(t: float, freedom: float) -> float:
    scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(scale - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def _beyond(t: float, freedom: float) -> float:
    """The probability of more than t >= 0: half of the regularised incomplete beta function."""
    x = freedom / (freedom + t * t)
    if x < (freedom + 2) / (freedom + 5):
        return _beta(x, 1 - x, freedom / 2, 0.5) / 2
    return 0.5 - _beta(t * t / (freedom + t * t), x, 0.5, freedom / 2) / 2


def _beta(x: float, rest: float, a: float, b: float) -> float:
    """I_x(a, b) with `rest` = 1 - x, by its continued fraction (Lentz's method)."""
    if x <= 0:
        return 0.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + factor * d)
            c = 1 + factor / c
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return math.exp(front) * value / a
