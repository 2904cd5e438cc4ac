"""The mean over queries, with its standard error and interval."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats
from rankloop._ratio import ratio

__all__ = ["Mean", "check_confidence", "mean_of"]


class Mean(NamedTuple):
    """A mean over `n` queries, its standard error and its interval; `units` is the Kish number of queries."""

    value: float
    error: float
    low: float
    high: float
    n: int
    units: float


def mean_of(values: Floats, weight: Floats, *, confidence: float = 0.95, kind: str = "skewed") -> Mean:
    """The weighted mean over queries; nan values and weightless queries are left out.

    Weights of 2 say "counts twice", not "was seen twice": unequal ones leave fewer `units`. `kind` is the
    interval: "student", "skewed" or, for values between 0 and 1, "share" (`rankloop._ratio.ratio`).

    >>> mean = mean_of(np.array([0.0, 0.5, 1.0, np.nan]), np.ones(4))
    >>> mean.value, mean.n, round(mean.error, 4)
    (0.5, 3, 0.2887)
    """
    check_confidence(confidence)
    kept = ~np.isnan(values) & (weight > 0)
    values, weight = values[kept], weight[kept]
    n = len(values)
    if n == 0:
        return Mean(np.nan, np.nan, np.nan, np.nan, 0, 0.0)
    found = ratio(weight * values, weight, confidence=confidence, kind=kind)
    return Mean(found.value, found.error, found.low, found.high, n, found.units)


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, got {confidence}; 0.95 is usual")
