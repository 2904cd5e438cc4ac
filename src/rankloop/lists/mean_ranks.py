"""Ranks by score, where ties share their mean rank."""

import numpy as np

from rankloop._arrays import Floats, Ints

__all__ = ["mean_ranks"]


def mean_ranks(scores: Floats, offsets: Ints) -> Floats:
    """The rank of each document by falling score, from 1; ties share their mean rank, nan stays nan.

    >>> mean_ranks(np.array([0.5, 0.9, 0.5, np.nan, 2.0]), np.array([0, 4, 5]))
    array([2.5, 1. , 2.5, nan, 1. ])
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((-scores, query))  # nan comes last
    sorted_scores, sorted_query = scores[order], query[order]
    new = np.ones(len(scores), bool)
    new[1:] = (sorted_scores[1:] != sorted_scores[:-1]) | (sorted_query[1:] != sorted_query[:-1])
    heads = np.flatnonzero(new)
    ends = np.append(heads[1:], len(scores))
    block = np.cumsum(new) - 1
    found = np.empty(len(scores))
    found[order] = 0.5 * (heads + ends - 1)[block] - offsets[sorted_query] + 1
    found[np.isnan(scores)] = np.nan
    return found
