"""The weights of queries and documents as one weight per row."""

import numpy as np

from rankloop._arrays import Floats
from rankloop.data import RankingDataset

__all__ = ["row_weight"]


def row_weight(data: RankingDataset) -> Floats:
    """`query_weight` times `item_weight`, where the data set has them; else 1.

    >>> row_weight(RankingDataset([[1.0], [2.0]], [0, 1], ["a", "a"], item_weight=[1, 3]))
    array([1., 3.])
    """
    weight = np.ones(data.n_documents)
    if data.query_weight is not None:
        weight *= data.query_weight[data.row_query]
    if data.item_weight is not None:
        weight *= data.item_weight
    return weight
