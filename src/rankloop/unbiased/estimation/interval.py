"""Intervals for a ratio of sums over queries."""

import numpy as np
from scipy.stats import t

from rankloop.unbiased.estimation.evidence import Floats

__all__ = ["FEW", "clustered_error", "interval"]

FEW = 20  # queries below which the spread between queries says little


def clustered_error(above: Floats, below: Floats) -> float:
    """The standard error of sum(above) / sum(below), whole queries drawn at random (linearised)."""
    n, total = len(above), below.sum()
    residual = above - above.sum() / total * below
    return float(np.sqrt(n / max(n - 1, 1) * np.sum(residual**2)) / abs(total))


def interval(value: float, error: float, clusters: int) -> tuple[float, float]:
    """95 %, by Student's t."""
    reach = float(t.ppf(0.975, max(clusters - 1, 1))) * error
    return value - reach, value + reach
