"""Optimized interleaving and multileaving: the distribution over pages is a linear programme."""

from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.interleaving._chance import Chance
from rankloop.interleaving.method import Method
from rankloop.interleaving.page import Page

__all__ = ["Optimized"]


class Optimized(Method):
    r"""Pages drawn so that random clicks favour no ranking, with least variance (Radlinski & Craswell, 2013).

    A page is possible if each of its places holds the best remaining document of some ranking. Let
    :math:`\delta_j(d)` be the credit of ranking j for a click on d (`credits="inverse"`: 1 / rank;
    `"linear"`: minus the rank). The probabilities :math:`p_L` of the pages make
    :math:`\sum_L p_L \sum_{i \le m} \delta_j(L_i)` equal for all j at every depth m, and among such solutions
    have the least predicted variance under position-biased random clicks (Schuth et al., 2014). Where no
    exact solution exists (many rankings, short ones), the largest difference is minimised, noted with the
    page as `unfairness`, and subtracted from the credits place by place. With more than `max_pages` possible
    pages a random sample of them is used.

    >>> duel = Optimized(seed=0)
    >>> page = duel.combine([["a", "b", "c"], ["b", "a", "d"]], k=2)
    >>> round(page.notes["unfairness"], 6)
    0.0
    """

    name = "optimized"

    def __init__(self, *, credits: str = "inverse", max_pages: int = 2000, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.credits = one_of("credits", credits, ("inverse", "linear"))
        if max_pages < 2:
            raise ValueError(f"max_pages must be at least 2, got {max_pages}")
        self.max_pages = max_pages

    def _combine(self, chance: Chance, rankings: list[list[Any]], k: int) -> Page:
        if not any(rankings):
            return Page(self.name, (), len(rankings), {"credits": [], "unfairness": 0.0})
        pages = self._pages(rankings, k)
        credits = np.array([[self._credits(rankings, document) for document in page] for page in pages])
        probability, unfairness = fair_mixture(credits)
        chosen = chance.pick([float(p) for p in probability])
        expected = np.einsum("p,pir->ir", probability, credits)
        lean = expected - expected.mean(axis=1, keepdims=True)
        notes = {"credits": (credits[chosen] - lean).tolist(), "unfairness": unfairness}
        return Page(self.name, tuple(pages[chosen]), len(rankings), notes)

    def _credit(self, page: Page, clicked: list[int]) -> Floats:
        table = np.array(page.notes["credits"]).reshape(-1, page.rankers)
        return np.asarray(table[clicked].sum(axis=0))

    def _pages(self, rankings: list[list[Any]], k: int) -> list[tuple[Any, ...]]:
        """All pages whose every place holds the best remaining document of some ranking, or a sample."""
        length = min(k, len(set().union(*rankings)))
        pages: list[tuple[Any, ...]] = [()]
        for _ in range(length):
            pages = list(dict.fromkeys((*page, d) for page in pages for d in _next(rankings, page)))
            if len(pages) > self.max_pages:
                return self._sampled(rankings, length)
        return pages

    def _sampled(self, rankings: list[list[Any]], length: int) -> list[tuple[Any, ...]]:
        random = np.random.default_rng(self.seed)
        pages: dict[tuple[Any, ...], None] = {}
        for _ in range(self.max_pages):
            page: tuple[Any, ...] = ()
            while len(page) < length:
                choices = _next(rankings, page)
                page = (*page, choices[random.integers(len(choices))])
            pages[page] = None
        return list(pages)

    def _credits(self, rankings: list[list[Any]], document: Any) -> list[float]:
        ranks = [
            ranking.index(document) + 1 if document in ranking else len(ranking) + 1 for ranking in rankings
        ]
        if self.credits == "inverse":
            return [1.0 / rank for rank in ranks]
        return [-float(rank) for rank in ranks]


def fair_mixture(credits: Floats) -> tuple[Floats, float]:
    """Probabilities of the pages from their credits (pages × places × rankers), and the remaining unfairness.

    Variables: one probability per page, and one slack per depth and ranker for the distance of its expected
    credit from the mean of all rankers.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack

    pages, places, _ = credits.shape
    reached = np.cumsum(credits, axis=1)
    apart = (reached - reached.mean(axis=2, keepdims=True)).reshape(pages, -1).T
    bias = 1.0 / np.arange(1, places + 1)
    expected = np.einsum("pir,i->pr", credits, bias)
    variance = ((expected - expected.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    scale = max(float(np.abs(credits).max()), 1e-12)
    limits = hstack([csr_array(np.vstack([apart, -apart]) / scale), -_twice(eye_array(len(apart)))])
    solved = linprog(
        np.concatenate([variance / scale**2, np.full(len(apart), 1e4)]),
        A_ub=limits,
        b_ub=np.zeros(2 * len(apart)),
        A_eq=csr_array(np.concatenate([np.ones(pages), np.zeros(len(apart))])[None, :]),
        b_eq=[1.0],
        method="highs",
    )
    assert solved.status == 0, solved.message  # every single page is a solution with enough slack
    probability = np.clip(solved.x[:pages], 0.0, None)
    probability /= probability.sum()
    return probability, float(np.abs(apart @ probability).max())


def _twice(block: Any) -> Any:
    from scipy.sparse import vstack

    return vstack([block, block])


def _next(rankings: list[list[Any]], page: tuple[Any, ...]) -> list[Any]:
    """The best remaining documents, one per ranking, without repeats."""
    best = [next((d for d in ranking if d not in page), None) for ranking in rankings]
    return list(dict.fromkeys(document for document in best if document is not None))
