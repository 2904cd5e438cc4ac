"""The sum of every list."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel

__all__ = ["list_sums"]


@kernel
def list_sums(values: Floats, offsets: Ints) -> Floats:
    """The sum of each list; 0 for an empty one.

    >>> list_sums(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 2, 3]))
    array([3., 0., 3.])
    """
    sums = np.zeros(offsets.size - 1)
    for q in range(offsets.size - 1):
        for i in range(offsets[q], offsets[q + 1]):
            sums[q] += values[i]
    return sums
