"""Balanced interleaving."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.interleaving._chance import Chance
from rankloop.interleaving.method import Method
from rankloop.interleaving.page import Page

__all__ = ["Balanced"]


class Balanced(Method):
    """The two rankings take turns; which one begins is random (Joachims, 2003).

    Let m be the better of the two ranks that the lowest clicked document has. The ranking with more clicked
    documents among its own top m wins. Two rankings only. Known fault (Radlinski & Craswell, 2013): where one
    ranking is a shift of the other, random clicks favour one of them; `TeamDraft` does not have it.

    >>> page = Balanced(seed=0).combine([["a", "b", "c"], ["b", "c", "a"]], k=3)
    >>> Balanced().credit(page, ["a"])
    array([1., 0.])
    """

    name = "balanced"
    fault = "balanced interleaving favours one of two shifted rankings even under random clicks"

    def _combine(self, chance: Chance, rankings: list[list[Any]], k: int) -> Page:
        if len(rankings) != 2:
            raise ValueError(
                f"balanced interleaving compares two rankings, got {len(rankings)}; use TeamDraft"
            )
        first = chance.pick([1.0, 1.0])
        documents: dict[Any, None] = {}
        taken = [0, 0]
        while len(documents) < k and any(taken[r] < len(rankings[r]) for r in (0, 1)):
            behind = first if taken[first] <= taken[1 - first] else 1 - first
            if taken[behind] >= len(rankings[behind]):
                behind = 1 - behind
            documents.setdefault(rankings[behind][taken[behind]])
            taken[behind] += 1
        shown = tuple(documents)
        ranks = [[_rank(ranking, document) for document in shown] for ranking in rankings]
        return Page(self.name, shown, 2, {"first": first, "ranks": ranks})

    def _credit(self, page: Page, clicked: list[int]) -> Floats:
        ranks: list[list[int | None]] = page.notes["ranks"]
        if not clicked:
            return np.zeros(2)
        lowest = clicked[-1]
        depth = min(rank for rank in (ranks[0][lowest], ranks[1][lowest]) if rank is not None)
        return np.array([_within(ranks[r], clicked, depth) for r in (0, 1)], np.float64)


def _rank(ranking: Sequence[Any], document: Any) -> int | None:
    return ranking.index(document) + 1 if document in ranking else None


def _within(ranks: Sequence[int | None], clicked: Sequence[int], depth: int) -> int:
    return sum(1 for index in clicked if (rank := ranks[index]) is not None and rank <= depth)
