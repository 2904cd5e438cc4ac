"""Batches in which the documents of the other queries are the negatives."""

import numpy as np

from rankloop._arrays import Ints, Singles

__all__ = ["in_batch"]


def in_batch(queries: int) -> tuple[Singles, Ints]:
    """Labels and offsets for a square of similarities: a row per query, its own document on the diagonal.

    >>> in_batch(2)
    (array([1., 0., 0., 1.], dtype=float32), array([0, 2, 4]))
    """
    return np.eye(queries, dtype=np.float32).ravel(), np.arange(0, queries * queries + 1, queries)
