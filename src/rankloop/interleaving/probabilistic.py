"""Probabilistic interleaving and multileaving, with marginalised credit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.interleaving._chance import Chance
from rankloop.interleaving.method import Method
from rankloop.interleaving.page import Page

__all__ = ["Probabilistic"]


class Probabilistic(Method):
    r"""Each place is drawn from a random ranking's softmax over its ranks (Hofmann et al., 2011).

    .. math:: P_j(d) \propto \mathrm{rank}_j(d)^{-\tau}

    over the documents left. A clicked document gives each ranking the probability that it was the one that
    drew it, which is the exact mean over all assignments. Every order has some probability, which is noted
    with the page, so pages shown in the past can be replayed for new rankings (`replay`). Documents of
    places where some ranking has nothing left are nobody's credit.

    >>> duel = Probabilistic(seed=0)
    >>> page = duel.combine([["a", "b"], ["b", "a"]], k=2)
    >>> duel.credit(page, [page.documents[0]]).round(3)
    array([0.111, 0.889])
    """

    name = "probabilistic"

    def __init__(self, *, tau: float = 3.0, seed: int = 0) -> None:
        super().__init__(seed=seed)
        if not tau > 0:
            raise ValueError(f"tau must be above 0, got {tau}")
        self.tau = tau

    def _combine(self, chance: Chance, rankings: list[list[Any]], k: int) -> Page:
        weights = [self.weights(ranking) for ranking in rankings]
        shown: list[Any] = []
        while len(shown) < k and any(weights):
            drawing = [left for left in weights if left]
            drawer = drawing[chance.pick([1.0] * len(drawing))]
            documents = list(drawer)
            shown.append(documents[chance.pick([drawer[document] for document in documents])])
            for left in weights:
                left.pop(shown[-1], None)
        log_chance, shares = self.page_chance(shown, rankings)
        notes = {"shares": shares, "tau": self.tau, "log_chance": log_chance}
        return Page(self.name, tuple(shown), len(rankings), notes)

    def _credit(self, page: Page, clicked: list[int]) -> NDArray[np.float64]:
        credit = np.zeros(page.rankers)
        for index in clicked:
            share = page.notes["shares"][index]
            if share is not None:
                credit += share
        return credit

    def weights(self, ranking: Sequence[Any]) -> dict[Any, float]:
        """The unnormalised chance of each document of one ranking."""
        return {document: float(rank) ** -self.tau for rank, document in enumerate(ranking, 1)}

    def page_chance(
        self, documents: Sequence[Any], rankings: Sequence[Sequence[Any]]
    ) -> tuple[float, list[list[float] | None]]:
        """The log-probability of a page under some rankings, and for each place who drew its document.

        Who drew it is None where some ranking had nothing left to draw from.
        """
        weights = [self.weights(ranking) for ranking in rankings]
        log_chance = 0.0
        shares: list[list[float] | None] = []
        for document in documents:
            drawing = [left for left in weights if left]
            chances = [left.get(document, 0.0) / sum(left.values()) for left in drawing]
            total = sum(chances)
            if not total:
                return -np.inf, [None] * len(documents)
            log_chance += float(np.log(total / len(drawing)))
            every = len(drawing) == len(weights)
            shares.append([chance / total for chance in chances] if every else None)
            for left in weights:
                left.pop(document, None)
        return log_chance, shares
