"""Scores made comparable within each list; nan means that the document was not retrieved."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._names import one_of
from rankloop.lists.mean_ranks import mean_ranks

__all__ = ["NORMS", "normalised", "only_best"]


NORMS = ("minmax", "none", "sum", "zscore")


def normalised(scores: Floats, offsets: Ints, how: str) -> Floats:
    """`minmax` to [0, 1], `sum` to minimum 0 and sum 1, `zscore` to mean 0 and spread 1.

    A list of equal scores becomes 0 (`sum`: equal shares). nan stays nan.

    >>> normalised(np.array([1.0, 3.0, 5.0, 7.0]), np.array([0, 3, 4]), "minmax")
    array([0. , 0.5, 1. , 0. ])
    """
    one_of("norm", how, NORMS)
    if how == "none":
        return scores
    starts, lengths = offsets[:-1], np.diff(offsets)
    low = np.fmin.reduceat(scores, starts)
    count = np.maximum(np.add.reduceat(~np.isnan(scores), starts, dtype=np.float64), 1)
    if how == "minmax":
        shift, spread = low, np.fmax.reduceat(scores, starts) - low
    elif how == "sum":
        shift = low
        spread = np.add.reduceat(np.nan_to_num(scores - np.repeat(shift, lengths)), starts)
    else:
        shift = np.add.reduceat(np.nan_to_num(scores), starts) / count
        spread = np.sqrt(
            np.add.reduceat(np.nan_to_num(scores - np.repeat(shift, lengths)) ** 2, starts) / count
        )
    flat = ~(spread > 1e-12 * np.maximum(1.0, np.abs(shift)))
    moved = (scores - np.repeat(shift, lengths)) / np.repeat(np.where(flat, 1.0, spread), lengths)
    level = np.where(flat, 1.0 / count if how == "sum" else 0.0, np.nan)
    known_flat = np.repeat(flat, lengths) & ~np.isnan(scores)
    return np.where(known_flat, np.repeat(level, lengths), moved)


def only_best(scores: Floats, offsets: Ints, depth: int | None) -> Floats:
    """Scores of documents past rank `depth` of their list become nan."""
    return scores if depth is None else np.where(mean_ranks(scores, offsets) <= depth, scores, np.nan)
