"""Position-bias curves: the probability that each rank is examined."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop.report.drawing.curves import floats, named, rank_figure
from rankloop.report.drawing.panel import Curve
from rankloop.report.figure import Figure

__all__ = ["position_curve"]


def position_curve(
    curves: Mapping[str, Any] | Any,
    *,
    truth: ArrayLike | None = None,
    log: bool = False,
    title: str = "How likely each rank is to be seen",
    note: str = "Relative to the first rank; bands are 95 % intervals.",
) -> Figure:
    """One curve per name over ranks, with its interval; `truth` is drawn beside them if it is known.

    A curve is a `Propensity`, one value per rank, or a tuple of values, low and high.

    >>> position_curve({"swaps": ([1.0, 0.5, 0.3], [1.0, 0.4, 0.2], [1.0, 0.6, 0.4])})
    Figure('How likely each rank is to be seen')
    """
    made = [_curve(name, one) for name, one in named(curves).items()]
    if truth is not None:
        made.append(_curve("the truth", truth))
    return rank_figure(made, title, note, x_name="rank", y_name="propensity", log=log)


def _curve(name: str, given: Any) -> Curve:
    if hasattr(given, "values") and hasattr(given, "low") and hasattr(given, "high"):
        parts = [given.values, given.low, given.high]
    elif isinstance(given, tuple) and len(given) == 3 and np.ndim(given[0]) == 1:
        parts = list(given)
    else:
        parts = [given]
    values = [floats(part, f"the curve {name!r}") for part in parts]
    if len({len(one) for one in values}) != 1:
        raise ValueError(f"the curve {name!r} has values and bounds of different lengths")
    return Curve(name, np.arange(1.0, len(values[0]) + 1), *values)
