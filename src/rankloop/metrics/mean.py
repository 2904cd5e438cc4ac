"""The mean of a metric over lists."""

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["mean"]


def mean(
    values: ArrayLike, query_weight: ArrayLike | None = None, *, blank_adds: float | None = None
) -> float:
    """The mean over the lists that have a value, each with its weight; nan when none has.

    Scaling all weights changes nothing, and the mean stays between the smallest and the largest value.

    >>> mean([1.0, 0.0, float("nan")], [3, 1, 5])
    0.75
    """
    array = np.asarray(values, np.float64)
    weight = np.ones(len(array)) if query_weight is None else np.asarray(query_weight, np.float64)
    if weight.shape != array.shape:
        raise ValueError(f"query_weight needs one weight per list ({len(array)}), got shape {weight.shape}")
    if not np.all(np.isfinite(weight) & (weight >= 0)):
        at = int(np.argmin(np.isfinite(weight) & (weight >= 0)))
        raise ValueError(f"query_weight must be finite and >= 0, got {weight[at]:g} for list {at}")
    known = ~np.isnan(array)
    total = float(weight[known] @ array[known])
    base = float(weight[known].sum())
    if blank_adds is not None:
        total += blank_adds * float((~known).sum())
        base = float(weight.sum())
    return total / base if base > 0 else float("nan")
