"""Optimized interleaving and multileaving: the distribution over pages is a linear programme."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.interleaving._chance import Chance
from rankloop.interleaving.method import Method
from rankloop.interleaving.page import Page

__all__ = ["Optimized"]

KEPT = 1024  # patterns of rankings whose linear programme is not solved again


class Optimized(Method):
    r"""Pages drawn so that random clicks favour no ranking, with least variance (Radlinski & Craswell, 2013).

    A page is possible if each of its places holds the best remaining document of some ranking. Let
    :math:`\delta_j(d)` be the credit of ranking j for a click on d (`credits="inverse"`: 1 / rank;
    `"linear"`: minus the rank). The probabilities :math:`p_L` of the pages make
    :math:`\sum_L p_L \sum_{i \le m} \delta_j(L_i)` equal for all j at every depth m, and among such solutions
    have the least predicted variance under position-biased random clicks (Schuth et al., 2014). Where no
    exact solution exists (many rankings, short ones), the largest difference is minimised, noted with the
    page as `unfairness`, and subtracted from the credits place by place. With more than `max_pages` possible
    pages a random sample of them is used. The programme of rankings whose documents have the same ranks is
    solved once.

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
        documents = list(dict.fromkeys(document for ranking in rankings for document in ranking[:k]))
        number = {document: index for index, document in enumerate(documents)}
        places = [{document: rank for rank, document in enumerate(one, 1)} for one in rankings]
        mix = fair_mix(
            tuple(tuple(number[document] for document in one[:k]) for one in rankings),
            tuple(tuple(at.get(document, len(at) + 1) for at in places) for document in documents),
            k,
            self.credits,
            self.max_pages,
            self.seed,
        )
        chosen = chance.pick(mix.probability)
        notes = {"credits": [list(place) for place in mix.credits[chosen]], "unfairness": mix.unfairness}
        return Page(self.name, tuple(documents[one] for one in mix.pages[chosen]), len(rankings), notes)

    def _credit(self, page: Page, clicked: list[int]) -> Floats:
        table = np.array(page.notes["credits"]).reshape(-1, page.rankers)
        return np.asarray(table[clicked].sum(axis=0))


class Mix(NamedTuple):
    """The pages with a probability above 0, the credits of their places, and the remaining unfairness."""

    pages: list[tuple[int, ...]]
    probability: list[float]
    credits: list[list[list[float]]]
    unfairness: float


@lru_cache(maxsize=KEPT)
def fair_mix(
    lists: tuple[tuple[int, ...], ...],
    ranks: tuple[tuple[int, ...], ...],
    k: int,
    credits: str,
    max_pages: int,
    seed: int,
) -> Mix:
    """The pages of rankings like these, whatever their documents are: they are the numbers in `lists`.

    `lists` has the first `k` of each ranking, `ranks` the rank of each document in all of them.
    """
    length = min(k, len(ranks))
    pages = _every_page(lists, length, max_pages) or _some_pages(lists, length, max_pages, seed)
    places = np.array(ranks, np.float64)
    each = (1.0 / places if credits == "inverse" else -places)[np.array(pages)]
    probability, unfairness = fair_mixture(each)
    expected = np.einsum("p,pir->ir", probability, each)
    lean = expected - expected.mean(axis=1, keepdims=True)
    shown = np.flatnonzero(probability)
    return Mix(
        [pages[index] for index in shown],
        probability[shown].tolist(),
        (each[shown] - lean).tolist(),
        unfairness,
    )


def _every_page(lists: Sequence[Sequence[int]], length: int, most: int) -> list[tuple[int, ...]]:
    """All pages whose every place holds the best remaining document of some ranking; none if too many."""
    pages: list[tuple[int, ...]] = [()]
    for _ in range(length):
        pages = list(dict.fromkeys((*page, one) for page in pages for one in _next(lists, page)))
        if len(pages) > most:
            return []
    return pages


def _some_pages(lists: Sequence[Sequence[int]], length: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """A sample of them."""
    random = np.random.default_rng(seed)
    pages: dict[tuple[int, ...], None] = {}
    for _ in range(most):
        page: tuple[int, ...] = ()
        while len(page) < length:
            choices = _next(lists, page)
            page = (*page, choices[random.integers(len(choices))])
        pages[page] = None
    return list(pages)


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


def _next(lists: Sequence[Sequence[int]], page: tuple[int, ...]) -> list[int]:
    """The best remaining documents, one per ranking, without repeats."""
    best = [next((one for one in ranking if one not in page), None) for ranking in lists]
    return list(dict.fromkeys(one for one in best if one is not None))
