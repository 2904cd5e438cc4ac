"""Ranks by place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ranks"]


def ranks(offsets: NDArray[np.int64], dtype: Any = np.float64) -> NDArray[Any]:
    """1, 2, 3, ... in each list.

    >>> ranks(np.array([0, 2, 5]))
    array([1., 2., 1., 2., 3.])
    """
    made: NDArray[Any] = np.arange(1, offsets[-1] + 1, dtype=dtype)
    made -= np.repeat(offsets[:-1].astype(dtype), np.diff(offsets))
    return made
