"""Team-draft interleaving and multileaving."""

from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.interleaving._chance import Chance
from rankloop.interleaving.method import Method
from rankloop.interleaving.page import Page

__all__ = ["TeamDraft"]


class TeamDraft(Method):
    """Rankings pick their best remaining document, in random order each round (Radlinski et al., 2008).

    A click counts for the ranking that picked the document; with more than two rankings it is team-draft
    multileaving (Schuth et al., 2014). A round gives credit only if every ranking certainly has a pick in it:
    after a ranking has run out, documents are shown without credit, so that random clicks favour no one.

    >>> duel = TeamDraft(seed=0)
    >>> page = duel.combine([["a", "b", "c"], ["d", "e", "f"]], k=4)
    >>> page.documents
    ('d', 'a', 'b', 'e')
    >>> duel.credit(page, ["a", "b"])
    array([2., 0.])
    """

    name = "team_draft"

    def _combine(self, chance: Chance, rankings: list[list[Any]], k: int) -> Page:
        left = [list(ranking) for ranking in rankings]
        shown: list[Any] = []
        teams: list[int | None] = []
        while len(shown) < k and any(left):
            slots = min(k - len(shown), len(rankings), len(set().union(*left)))
            counts = all(len(ranking) >= slots for ranking in left)
            waiting = list(range(len(rankings)))
            while waiting and len(shown) < k and any(left):
                team = waiting.pop(chance.pick([1.0] * len(waiting)))
                if not left[team]:
                    continue
                document = left[team][0]
                shown.append(document)
                teams.append(team if counts else None)
                for ranking in left:
                    if document in ranking:
                        ranking.remove(document)
        return Page(self.name, tuple(shown), len(rankings), {"teams": teams})

    def _credit(self, page: Page, clicked: list[int]) -> Floats:
        credit = np.zeros(page.rankers)
        for index in clicked:
            team = page.notes["teams"][index]
            if team is not None:
                credit[team] += 1
        return credit
