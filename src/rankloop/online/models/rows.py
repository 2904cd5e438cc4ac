"""Checked candidates of one page."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Singles

__all__ = ["checked_rows"]


def checked_rows(X: ArrayLike, features: int | None) -> Singles:
    """The candidates as float32 rows; `features` is their number of columns where it is known."""
    rows = np.ascontiguousarray(X, dtype=np.float32)
    if rows.ndim != 2 or len(rows) == 0:
        raise ValueError(f"a page needs candidates × features, got shape {rows.shape}")
    if features is not None and rows.shape[1] != features:
        raise ValueError(f"this learner has {features} features, got {rows.shape[1]}")
    if np.isinf(rows).any():
        raise ValueError("features must be finite, or nan where missing")
    return rows
