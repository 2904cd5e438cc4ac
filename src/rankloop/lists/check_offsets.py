"""Whether offsets cut rows into lists."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Ints

__all__ = ["check_offsets", "writable"]


def check_offsets(offsets: ArrayLike, name: str = "offsets") -> Ints:
    """The offsets as int64, or what is wrong with them.

    >>> check_offsets([0, 2, 5])
    array([0, 2, 5])
    >>> check_offsets([2, 3])
    Traceback (most recent call last):
    ValueError: offsets must start at 0 and never fall, got [2, 3]; list q is rows offsets[q] to ...
    """
    array = np.asarray(offsets)
    if array.ndim != 1 or len(array) == 0 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, one more than there are lists, got {offsets!r:.60}")
    array = writable(np.ascontiguousarray(array, np.int64))
    if array[0] != 0 or np.count_nonzero(array[1:] < array[:-1]):  # `any` takes longer on few lists
        shown = str(array.tolist()) if len(array) <= 8 else f"{array[0]} ... {array[-1]}"
        raise ValueError(
            f"{name} must start at 0 and never fall, got {shown}; list q is rows {name}[q] to {name}[q + 1]"
        )
    return array


def writable(array: Array) -> Array:
    """The array, or a copy of one that is read-only: kernels would be compiled a second time for it.

    The columns of pandas tables and those of memory maps are read-only.
    """
    return array if array.flags.writeable else array.copy()
