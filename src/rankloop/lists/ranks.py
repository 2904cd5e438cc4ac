"""Ranks by place."""

from typing import Any

import numpy as np

from rankloop._arrays import Array, Ints

__all__ = ["ranks"]


def ranks(offsets: Ints, dtype: Any = np.float64) -> Array:
    """1, 2, 3, ... in each list.

    >>> ranks(np.array([0, 2, 5]))
    array([1., 2., 1., 2., 3.])
    """
    made: Array = np.arange(1, offsets[-1] + 1, dtype=dtype)
    made -= np.repeat(offsets[:-1].astype(dtype), offsets[1:] - offsets[:-1])
    return made
