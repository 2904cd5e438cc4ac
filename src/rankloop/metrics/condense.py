"""Condensed lists: rankings without the documents that nobody judged."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints, Singles
from rankloop.lists import Lists
from rankloop.metrics.kernels.holes import Holes

__all__ = ["Condensed", "condense"]


class Condensed(NamedTuple):
    """Lists of judged documents; `kept` are their rows in the lists that were given."""

    scores: Floats
    labels: Singles
    offsets: Ints
    kept: Ints


def condense(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, *, judged: ArrayLike | None
) -> Condensed:
    """The lists without documents that were not judged (Sakai, 2007): those below move up.

    A metric of the condensed list neither punishes nor rewards a system for results that nobody looked at.
    Compare it with the metric of the whole list: where the two disagree about which system is better, judge
    more.

    >>> condense([3.0, 2.0, 1.0], [0, 1, 2], [0, 3], judged=[False, True, True]).labels
    array([1., 2.], dtype=float32)
    """
    lists = Lists(scores, labels, offsets)
    marks = Holes.of(judged, lists.n_documents, "judged").marks
    known = np.ones(lists.n_documents, np.bool_) if marks is None else np.equal(marks, 1)
    total = np.concatenate(([0], np.cumsum(known)))
    return Condensed(lists.scores[known], lists.labels[known], total[lists.offsets], np.flatnonzero(known))
