"""The mean over queries, with its standard error and interval."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats

__all__ = ["Mean", "check_confidence", "mean_of"]


class Mean(NamedTuple):
    """A mean over `n` queries, its standard error, and the interval of Student's t around it."""

    value: float
    error: float
    low: float
    high: float
    n: int


def mean_of(values: Floats, weight: Floats, *, confidence: float = 0.95) -> Mean:
    """The weighted mean over queries; nan values and weightless queries are left out.

    The error is that of a ratio of two sums, so weights of 2 say "counts twice", not "was seen twice",
    and with equal weights it is the usual standard error.

    >>> mean = mean_of(np.array([0.0, 0.5, 1.0, np.nan]), np.ones(4))
    >>> mean.value, mean.n, round(mean.error, 4)
    (0.5, 3, 0.2887)
    """
    check_confidence(confidence)
    kept = ~np.isnan(values) & (weight > 0)
    values, weight = values[kept], weight[kept]
    n = len(values)
    if n == 0:
        return Mean(np.nan, np.nan, np.nan, np.nan, 0)
    total = weight.sum()
    value = float(weight @ values / total)
    if n == 1:
        return Mean(value, np.inf, -np.inf, np.inf, 1)
    error = float(np.sqrt(np.sum((weight * (values - value)) ** 2) * n / (n - 1)) / total)
    from scipy.special import stdtrit  # costs a tenth of a second: loaded when an interval is wanted

    reach = float(stdtrit(n - 1, (1 + confidence) / 2)) * error
    return Mean(value, error, value - reach, value + reach, n)


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, got {confidence}; 0.95 is usual")
