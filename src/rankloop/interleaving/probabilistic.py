"""Probabilistic interleaving and multileaving, with marginalised credit."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.interleaving._chance import Chance
from rankloop.interleaving.method import Method
from rankloop.interleaving.page import Page

__all__ = ["Probabilistic"]


class Probabilistic(Method):
    r"""Each place is drawn from a random ranking's softmax over its ranks (Hofmann et al., 2011).

    .. math:: P_j(d) \propto \mathrm{rank}_j(d)^{-\tau}

    over the remaining documents. A click credits each ranking with the probability that it drew the clicked
    document, the exact mean over all assignments. Every order has a positive probability, which is noted with
    the page, so that past pages can be replayed for new rankings (`replay`). Places after one of the rankings
    has run out of documents give no credit.

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
        log_probability, shares = self.page_probability(shown, rankings)
        notes = {"shares": shares, "tau": self.tau, "log_probability": log_probability}
        return Page(self.name, tuple(shown), len(rankings), notes)

    def _credit(self, page: Page, clicked: list[int]) -> Floats:
        credit = np.zeros(page.rankers)
        for index in clicked:
            share = page.notes["shares"][index]
            if share is not None:
                credit += share
        return credit

    def weights(self, ranking: Sequence[Any]) -> dict[Any, float]:
        """The unnormalised probability of each document of one ranking."""
        return {document: float(rank) ** -self.tau for rank, document in enumerate(ranking, 1)}

    def page_probability(
        self, documents: Sequence[Any], rankings: Sequence[Sequence[Any]]
    ) -> tuple[float, list[list[float] | None]]:
        """The log-probability of a page under some rankings, and for each place the share of each ranking.

        The shares of a place are None where some ranking had run out of documents.
        """
        weights = [self.weights(ranking) for ranking in rankings]
        log_probability = 0.0
        shares: list[list[float] | None] = []
        for document in documents:
            drawing = [left for left in weights if left]
            chances = [left.get(document, 0.0) / sum(left.values()) for left in drawing]
            total = sum(chances)
            if not total:
                return -np.inf, [None] * len(documents)
            log_probability += float(np.log(total / len(drawing)))
            every = len(drawing) == len(weights)
            shares.append([chance / total for chance in chances] if every else None)
            for left in weights:
                left.pop(document, None)
        return log_probability, shares
