"""The discount of every row, where lists are in order."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.lists.discount import discount
from rankloop.lists.ranks import ranks

__all__ = ["list_discounts"]


def list_discounts(offsets: Ints) -> Floats:
    """The discounts of ranks 1, 2, 3, ... in each list: one logarithm per rank, not per row.

    >>> list_discounts(np.array([0, 3, 4])).round(4)
    array([1.    , 0.6309, 0.5   , 1.    ])
    """
    table = discount(np.arange(1, int((offsets[1:] - offsets[:-1]).max(initial=0)) + 1))
    rank: Ints = ranks(offsets, np.int64)
    return table[rank - 1]
