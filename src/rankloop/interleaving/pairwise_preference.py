"""Pairwise preference interleaving and multileaving."""

from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.interleaving._chance import Chance
from rankloop.interleaving.method import Method
from rankloop.interleaving.page import Page

__all__ = ["PairwisePreference"]


class PairwisePreference(Method):
    r"""Clicks become preferences between documents that judge every ranking (Oosterhuis & de Rijke, 2017).

    Place i takes a random document among those that some ranking has at rank i or above. A clicked document
    is preferred to the unclicked ones above the last click and to the next one. From the first place
    :math:`\bar r` at which both documents of a pair are candidates, either order is equally likely; only
    pairs with both documents at or below it count, weighted by the inverse probability of that,

    .. math:: \prod_{i < \bar r} \left(1 - \frac{1}{|\Omega_i|}\right)^{-1},

    and a ranking gains or loses this weight by the order in which it has the two. Any number of rankings.

    >>> duel = PairwisePreference(seed=0)
    >>> page = duel.combine([["a", "b", "c"], ["b", "c", "a"]], k=3)
    >>> duel.credit(page, [page.documents[0]]).shape
    (2,)
    """

    name = "pairwise_preference"

    def _combine(self, chance: Chance, rankings: list[list[Any]], k: int) -> Page:
        ranks = [{document: rank for rank, document in enumerate(ranking, 1)} for ranking in rankings]
        best: dict[Any, int] = {}
        for of_ranker in ranks:
            for document, rank in of_ranker.items():
                best[document] = min(rank, best.get(document, rank))
        shown: list[Any] = []
        sizes: list[int] = []
        for place in range(1, min(k, len(best)) + 1):
            candidates = [d for d, rank in best.items() if rank <= place and d not in shown]
            sizes.append(len(candidates))
            shown.append(candidates[chance.pick([1.0] * len(candidates))])
        notes = {
            "best": [best[document] for document in shown],
            "candidates": sizes,
            "ranks": [[of_ranker.get(document) for document in shown] for of_ranker in ranks],
        }
        return Page(self.name, tuple(shown), len(rankings), notes)

    def _credit(self, page: Page, clicked: list[int]) -> Floats:
        credit = np.zeros(page.rankers)
        if not clicked:
            return credit
        passed = [index for index in range(min(clicked[-1] + 2, len(page))) if index not in clicked]
        for winner in clicked:
            for loser in passed:
                credit += self._pair(page, winner, loser)
        return credit

    @staticmethod
    def _pair(page: Page, winner: int, loser: int) -> Floats:
        best: list[int] = page.notes["best"]
        both = max(best[winner], best[loser])
        if min(winner, loser) + 1 < both:
            return np.zeros(page.rankers)
        waited = page.notes["candidates"][min(best[winner], best[loser]) - 1 : both - 1]
        weight = 1.0 / np.prod([1.0 - 1.0 / size for size in waited])
        return np.array([weight * _order(ranks[winner], ranks[loser]) for ranks in page.notes["ranks"]])


def _order(winner: int | None, loser: int | None) -> int:
    """1 if a ranking has the winner above the loser, -1 if below; a missing document counts as last."""
    first = np.inf if winner is None else winner
    second = np.inf if loser is None else loser
    return int(np.sign(second - first)) if first != second else 0
