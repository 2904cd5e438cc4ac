"""A ratio of sums over units that were drawn together, with its interval: for all families."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats
from rankloop._student import student_quantile

__all__ = ["Ratio", "mixture_quantile", "ratio", "reach"]

FEW_UNITS = 20  # units at which the spread of all, heavy or light, has half a say in that of a share


class Ratio(NamedTuple):
    """sum(above) / sum(below), its standard error, its interval, and the units that it rests on.

    `skew` is that of the ratio's distribution (0 is symmetric), `units` counts equally large units with the
    same information: about the value (Kish, 1965), or where the interval is "skewed" about its error, which
    rests on the largest units even more.
    """

    value: float
    error: float
    low: float
    high: float
    skew: float
    units: float


def ratio(above: Floats, below: Floats, *, confidence: float = 0.95, kind: str = "skewed") -> Ratio:
    """The ratio of two sums over units (queries, people), each with its share of both.

    The error is the jackknife's: what each unit weighs is taken into account, and with equal weights it is
    the usual standard error. `kind` is the interval: "student" is symmetric, by t with as many degrees of
    freedom as there are `units`; "skewed" corrects it for the skewness of the units (Hall, 1992); "share" is
    for values between 0 and 1, whose spread depends on the mean (Wilson, 1927): it stays within 0 and 1.
    "rate" is the same where `below` counts trials, so that a small unit's own share says little.

    >>> found = ratio(np.array([0.0, 0.5, 1.0]), np.ones(3), kind="student")
    >>> found.value, round(found.error, 4), found.units
    (0.5, 0.2887, 3.0)
    """
    n, total = len(above), float(below.sum())
    value = float(above.sum() / total)
    size = below * below if kind == "skewed" else below
    units = float(size.sum()) ** 2 / float(size @ size)
    share = np.minimum(below / total, 1.0)
    if n == 1 or share.max() > 1 - 1e-9:
        return Ratio(value, np.inf, -np.inf, np.inf, 0.0, units)
    residual = (above - value * below) / (1 - share) / total
    square = float(residual @ residual)
    error = float(np.sqrt(square * (n - 1) / n))
    skew = float(np.sum(residual**3)) / square**1.5 if square > 0 else 0.0
    if kind in ("share", "rate"):
        low, high = _score(value, error, units, above, below, confidence, None if kind == "rate" else skew)
    else:
        low, high = reach(value, error, units, confidence=confidence, skew=skew if kind == "skewed" else 0.0)
    return Ratio(value, error, low, high, skew, units)


def reach(
    value: float, error: float, units: float, *, confidence: float = 0.95, skew: float = 0.0
) -> tuple[float, float]:
    """The interval of an estimate by Student's t, corrected for the skewness of the estimate (Hall, 1992)."""
    quantile = _quantile(units, confidence)
    a = skew / 3
    if abs(a) < 1e-9:
        return value - quantile * error, value + quantile * error
    low, high = ((np.cbrt(1 + 3 * a * (x - skew / 6)) - 1) / a for x in (quantile, -quantile))
    return float(value - error * low), float(value - error * high)


def mixture_quantile(values: Floats, errors: Floats, units: float, share: float) -> float:
    """The quantile of an estimate that has another value and error under each of several assumptions.

    >>> round(mixture_quantile(np.array([0.0, 0.0]), np.array([1.0, 1.0]), 1e9, 0.975), 2)
    1.96
    """
    from scipy.special import stdtr

    freedom = max(units - 1, 1.0)
    far = _quantile(units, 1 - min(share, 1 - share)) + 1.0
    low, high = float(np.min(values - far * errors)), float(np.max(values + far * errors))
    errors = np.maximum(errors, 1e-300)
    for _ in range(100):
        middle = (low + high) / 2
        if float(np.mean(stdtr(freedom, (middle - values) / errors))) < share:
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
            break
    return (low + high) / 2


def _score(
    value: float,
    error: float,
    units: float,
    above: Floats,
    below: Floats,
    confidence: float,
    skew: float | None,
) -> tuple[float, float]:
    """Wilson's interval, with the spread of the values in place of that of a share of hits.

    `skew` is None where units count trials: nothing is added to their spread.
    """
    seen = below > 0
    plain = above[seen] / below[seen]
    middle = float(plain.mean())
    spread = 1.0
    if 0 < value < 1 and 0 < middle < 1:
        spread = error**2 * units / (value * (1 - value))
        if skew is not None:
            if len(plain) > units + 1e-9:  # few heavy units may by chance look alike: all have a say then
                alike = float(plain.var(ddof=1)) / (middle * (1 - middle))
                spread += max(alike - spread, 0.0) * FEW_UNITS / (FEW_UNITS + units)
            # of few large values some may be missing, and value and spread are both too small then
            spread = max(spread, min(spread * (1.0 + skew**2 / 2), 1.0))
    wide = _quantile(units, confidence) ** 2 * spread / units
    centre = (value + wide / 2) / (1 + wide)
    half = np.sqrt(wide * (max(value * (1 - value), 0.0) + wide / 4)) / (1 + wide)
    return float(min(centre - half, value)), float(max(centre + half, value))


def _quantile(units: float, confidence: float) -> float:
    return student_quantile(max(units - 1, 1.0), (1 + confidence) / 2)
