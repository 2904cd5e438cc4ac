"""Scores of a list when one of its documents has other features."""

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.rankers.base.ranker import Ranker

__all__ = ["scores_instead"]

_MOST = 200_000  # rows that are scored at once


def scores_instead(ranker: Ranker, listed: Singles, row: int, others: Singles) -> Floats:
    """For each of `others`, the scores of the whole list with it in the place of `row`."""
    if not ranker.needs_lists:
        scores = np.tile(ranker.predict(listed), (len(others), 1))
        scores[:, row] = ranker.predict(others)
        return scores
    length, width = listed.shape
    scores = np.empty((len(others), length))
    at_once = max(1, _MOST // length)
    for first in range(0, len(others), at_once):
        some = others[first : first + at_once]
        copies = np.repeat(listed[None], len(some), axis=0)
        copies[:, row] = some
        found = ranker.predict(copies.reshape(-1, width), qid=np.repeat(np.arange(len(some)), length))
        scores[first : first + at_once] = found.reshape(len(some), length)
    return scores
