"""Intervals for a ratio of sums over queries."""

import numpy as np
from scipy.stats import t

from rankloop._arrays import Floats

__all__ = ["FEW", "clustered_error", "interval"]

FEW = 20  # with fewer queries the spread between queries is not estimated well


def clustered_error(above: Floats, below: Floats) -> float:
    """The standard error of sum(above) / sum(below) if whole queries are resampled (linearised)."""
    n, total = len(above), below.sum()
    residual = above - above.sum() / total * below
    return float(np.sqrt(n / max(n - 1, 1) * np.sum(residual**2)) / abs(total))


def interval(value: float, error: float, clusters: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided, by Student's t."""
    reach = float(t.ppf((1 + confidence) / 2, max(clusters - 1, 1))) * error
    return value - reach, value + reach
