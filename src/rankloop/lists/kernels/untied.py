"""Ranked lists without ties, for numpy: what the twins of kernels read."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Ints
from rankloop.lists.top_lists import Ranked

__all__ = ["Untied"]


class Untied(NamedTuple):
    """The documents of lists without ties, list after list: list, place in `Ranked`, and rank of each.

    `others` are the lists that have a tie, and all lists where documents have weights.
    """

    owner: Ints
    place: Ints
    rank: Ints
    others: list[int]

    @classmethod
    def of(cls, ranked: Ranked, limits: int | Ints, first: int, last: int) -> "Untied":
        """The lists `first` to `last`, each down to its rank in `limits`."""
        start, kept = ranked.start[first:last], ranked.kept[first:last]
        owner, rank = _spread(kept)
        loop = np.full(last - first, len(ranked.weight) > 0)
        loop[owner[ranked.tied[start[owner] + rank]]] = True
        owner, rank = _spread(np.where(loop, 0, np.minimum(kept, limits)))
        return cls(owner + first, start[owner] + rank, rank + 1, (np.flatnonzero(loop) + first).tolist())


def _spread(sizes: Ints) -> tuple[Ints, Ints]:
    """For each document of lists of these sizes its list, and how many of the list come before it."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
