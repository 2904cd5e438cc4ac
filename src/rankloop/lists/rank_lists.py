"""The rows of every list by falling value."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel, over_lists
from rankloop.lists.kernels.sort import longest_list, scratch, sort_list

__all__ = ["rank_lists"]


def rank_lists(values: Floats, offsets: Ints) -> Ints:
    """The rows of each list by falling value; equal values keep their order.

    >>> rank_lists(np.array([1.0, 3.0, 2.0, 0.0, 5.0]), np.array([0, 3, 5]))
    array([1, 2, 0, 4, 3])
    """
    order = np.empty(len(values), np.int64)
    over_lists(lambda first, last: _rank_lists(first, last, values, offsets, order), offsets)
    return order


@kernel
def _rank_lists(first: int, last: int, values: Floats, offsets: Ints, order: Ints) -> None:
    row, key, spare, bucket, slot = scratch(longest_list(offsets, first, last))
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        if stop > start:
            sort_list(values[start:stop], row, key, spare, bucket, slot)
            for k in range(stop - start):
                order[start + k] = start + row[k]
