"""Probabilistic interleaving and multileaving, with marginalised credit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.interleaving._chance import Chance
from rankloop.interleaving._method import Method
from rankloop.interleaving.page import Page

__all__ = ["Probabilistic"]


class Probabilistic(Method):
    r"""Each place is drawn from a random ranking's softmax over its ranks (Hofmann et al., 2011).

    .. math:: P_j(d) \propto \mathrm{rank}_j(d)^{-\tau}

    over the documents left. A clicked document gives each ranking the probability that it was the one that
    drew it, which is the exact mean over all assignments. Every order has some probability, so
    pages shown in the past can be replayed for new rankings (`replay`). Documents of places where some
    ranking has nothing left are nobody's credit.

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
        shares: list[list[float] | None] = []
        while len(shown) < k and any(weights):
            drawing = [ranker for ranker, left in enumerate(weights) if left]
            drawer = drawing[chance.pick([1.0] * len(drawing))]
            documents = list(weights[drawer])
            document = documents[chance.pick([weights[drawer][d] for d in documents])]
            shares.append(posterior(weights, document))
            shown.append(document)
            for left in weights:
                left.pop(document, None)
        return Page(self.name, tuple(shown), len(rankings), {"shares": shares, "tau": self.tau})

    def _credit(self, page: Page, clicked: list[int]) -> NDArray[np.float64]:
        credit = np.zeros(page.rankers)
        for index in clicked:
            share = page.notes["shares"][index]
            if share is not None:
                credit += share
        return credit

    def weights(self, ranking: list[Any]) -> dict[Any, float]:
        """The unnormalised chance of each document of one ranking."""
        return {document: float(rank) ** -self.tau for rank, document in enumerate(ranking, 1)}


def posterior(weights: list[dict[Any, float]], document: Any) -> list[float] | None:
    """Who drew the document, given what is left; None when some ranking had nothing to draw from."""
    if not all(weights):
        return None
    chances = [left.get(document, 0.0) / sum(left.values()) for left in weights]
    total = sum(chances)
    return [chance / total for chance in chances]
