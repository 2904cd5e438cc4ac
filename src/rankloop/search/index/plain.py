"""Values of documents as JSON has them."""

from decimal import Decimal
from typing import Any

import numpy as np

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Numbers of NumPy, decimals, sets, dates and times as JSON has them; other values as they are.

    >>> plain(np.float32(0.5)), plain({2, 1}), plain("red")
    (0.5, [1, 2], 'red')
    """
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return value.isoformat() if hasattr(value, "isoformat") else value
