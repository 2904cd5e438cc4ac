"""The mean over queries, with its standard error and interval."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats
from rankloop._ratio import ratio
from rankloop._student import check_confidence

__all__ = ["FEW", "Mean", "mean_of"]

FEW = 15  # queries that differ from all others, below which an interval is rough
SKEWED = 0.2  # skewness of a mean, above which a symmetric interval is too narrow on one side
SAME = 1e-9  # values of a query closer than this are a tie, not a win


class Mean(NamedTuple):
    """A mean over `n` queries, its standard error and its interval; `units` is the Kish number of queries.

    `apart` counts the queries that do not have the usual value (exactly where they are few), `skew` is that
    of the mean.
    """

    value: float
    error: float
    low: float
    high: float
    n: int
    units: float
    apart: int = 0
    skew: float = 0.0

    @property
    def few(self) -> bool:
        """Whether so few queries differ from the others that the interval's coverage is uncertain."""
        return self.n > 0 and self.apart < FEW

    @property
    def rough(self) -> bool:
        """The same for a symmetric interval, which a few large values mislead too."""
        return self.few or (abs(self.skew) > SKEWED and self.error > SAME)


def mean_of(
    values: Floats,
    weight: Floats,
    *,
    confidence: float = 0.95,
    kind: str = "skewed",
    usual: float | None = None,
) -> Mean:
    """The weighted mean over queries; nan values and weightless queries are left out.

    Weights of 2 say "counts twice", not "was seen twice": unequal ones leave fewer `units`. `kind` is the
    interval: "student", "skewed" or, for values between 0 and 1, "share" (`rankloop._ratio.ratio`).
    `usual` is the value of a query that tells nothing: 0 of a difference, by default the commonest one.

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
    apart = int(np.count_nonzero(np.abs(values - (_commonest(values) if usual is None else usual)) > SAME))
    return Mean(found.value, found.error, found.low, found.high, n, found.units, apart, found.skew)


def _commonest(values: Floats) -> float:
    """The value that most queries have; what all but a few have is the commonest of the first ones too."""
    first, times = np.unique(values[: 2 * FEW].round(9), return_counts=True)
    return float(first[times.argmax()])
