"""How likely an experiment is to show a difference."""

from math import sqrt

from rankloop.interleaving.pages_needed import normal_quantile, page_variance

__all__ = ["power"]


def power(
    difference: float,
    pages: int,
    *,
    ties: float = 0.0,
    confidence: float = 0.95,
    pages_per_user: float = 1.0,
    within_user: float = 0.0,
) -> float:
    """The probability that `pages` pages show a difference of this size; see `pages_needed`.

    >>> round(power(0.02, 19615), 3)
    0.8
    """
    from scipy.special import ndtr

    if pages < 1:
        raise ValueError(f"pages must be at least 1, got {pages}")
    variance = page_variance(difference, ties, pages_per_user, within_user)
    shift = abs(difference) / sqrt(variance / pages)
    z = normal_quantile((1 + confidence) / 2)
    return float(ndtr(shift - z) + ndtr(-shift - z))
