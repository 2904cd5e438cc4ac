"""How far raters agree, and what chance alone would give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._names import one_of
from rankloop._student import check_confidence

__all__ = ["DISTANCES", "Agreement", "grades_of", "squared_distances", "with_interval"]

DISTANCES = ("nominal", "ordinal", "interval", "ratio")
MOST_GRADES = 100


@dataclass(frozen=True)
class Agreement:
    """A measure of agreement corrected for chance, its interval, and the base rate.

    `value` is 1 for raters who always agree and 0 for raters who agree as often as chance; it is nan where
    all gave one and the same grade, as agreement is undefined then. `observed` is the agreement before the
    correction and `expected` that of chance, both from 0 to 1. `rates` has the share of each grade: where one
    of them is rare, raters agree mostly by not giving it, and `value` is low although `observed` is high.
    """

    value: float
    low: float
    high: float
    observed: float
    expected: float
    items: int
    raters: int
    rates: Mapping[float, float]
    confidence: float = 0.95

    def __str__(self) -> str:
        shares = ", ".join(f"{grade:g}: {share:.0%}" for grade, share in self.rates.items())
        return (
            f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] on {self.items:,} items of {self.raters} "
            f"raters; observed {self.observed:.3f}, by chance {self.expected:.3f}; grades {shares}"
        )


def grades_of(given: Floats) -> Floats:
    """The distinct grades, in order; nan stands for no grade."""
    if np.isinf(given).any():
        raise ValueError("grades are finite numbers, and nan where a rater gave none; got an infinite one")
    grades = np.unique(given[~np.isnan(given)])
    if len(grades) > MOST_GRADES:
        raise ValueError(
            f"agreement is measured on at most {MOST_GRADES} distinct grades, got {len(grades)}; round them"
        )
    return grades


def squared_distances(grades: Floats, counts: Floats, distance: str) -> Floats:
    """How far apart each two grades are, squared (Krippendorff, 2011)."""
    one_of("distance", distance, DISTANCES)
    if distance == "nominal":
        return np.asarray(grades[:, None] != grades, np.float64)
    if distance == "ordinal":
        middle = np.cumsum(counts) - counts / 2
        return np.asarray(np.square(middle[:, None] - middle))
    if distance == "ratio" and (grades < 0).any():
        raise ValueError(f"distance='ratio' takes grades from 0, got {grades[0]:g}; choose 'interval'")
    apart = np.square(grades[:, None] - grades)
    if distance == "interval":
        return apart
    sums = np.square(grades[:, None] + grades)
    return np.divide(apart, sums, out=np.zeros_like(apart), where=sums > 0)


def with_interval(
    measure: Callable[[Ints], float], counts: Ints, *, confidence: float, resamples: int, seed: int
) -> tuple[float, float]:
    """The percentile bootstrap over items: `counts` says how many items there are of each kind."""
    check_confidence(confidence)
    if resamples < 1:
        raise ValueError(f"resamples is at least 1, got {resamples}")
    total = int(counts.sum())
    if total == 0:
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    drawn = np.array([measure(rng.multinomial(total, counts / total)) for _ in range(resamples)])
    known = drawn[~np.isnan(drawn)]  # a draw of one grade only says nothing
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
