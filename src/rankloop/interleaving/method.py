"""The base of all interleaving methods: from rankings to a page, from clicks to credit."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from rankloop._arrays import Floats
from rankloop.interleaving._chance import Chance, RandomChance, every_outcome
from rankloop.interleaving.page import Page, Ranking

__all__ = ["Method", "clean", "method"]


def method(name: str, *, seed: int = 0) -> "Method":
    """An interleaving method by name.

    >>> method("team_draft").name
    'team_draft'
    """
    import rankloop.interleaving as family
    from rankloop._names import unknown

    known = {kind.name: kind for kind in Method.__subclasses__() if kind.__name__ in family.__all__}
    if name not in known:
        raise unknown("interleaving method", name, known)
    return known[name](seed=seed)


class Method(ABC):
    """One way to put several rankings on one page, and to credit its clicks to them.

    `fault` says where its credit is not fair; no verdict on such pages can be trusted there.
    """

    name: ClassVar[str]
    fault: ClassVar[str] = ""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self._chance = RandomChance(seed)

    def combine(self, rankings: Sequence[Ranking], k: int, *, key: str | None = None) -> Page:
        """A page of at most `k` documents; with a `key` the page is a function of seed, key and rankings."""
        chance = self._chance if key is None else RandomChance(self.seed, key)
        return self._combine_with(chance, rankings, k)

    def distribution(self, rankings: Sequence[Ranking], k: int) -> list[tuple[Page, float]]:
        """Every possible page with its exact probability; for short lists.

        >>> from rankloop.interleaving import TeamDraft
        >>> pages = TeamDraft().distribution([["a", "b"], ["b", "a"]], k=1)
        >>> [(page.documents, probability) for page, probability in pages]
        [(('a',), 0.5), (('b',), 0.5)]
        """
        chances: dict[str, tuple[Page, float]] = {}
        for page, probability in every_outcome(lambda chance: self._combine_with(chance, rankings, k)):
            known = chances.get(repr(page))
            chances[repr(page)] = (page, probability + (known[1] if known else 0.0))
        return list(chances.values())

    def credit(self, page: Page, clicks: Iterable[Any]) -> Floats:
        """One number per ranker for the clicks on a page; the higher one was preferred.

        `clicks` are the documents that were clicked, or one True or False for each result from the top.
        """
        if page.method != self.name:
            raise ValueError(
                f"this page was made by {page.method!r}; credit it with that method, not {self.name!r}"
            )
        return self._credit(page, page.clicked(clicks))

    def _combine_with(self, chance: Chance, rankings: Sequence[Ranking], k: int) -> Page:
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        if len(rankings) < 2:
            raise ValueError(f"interleaving needs two or more rankings, got {len(rankings)}")
        return self._combine(chance, [clean(ranking, chance) for ranking in rankings], k)

    @abstractmethod
    def _combine(self, chance: Chance, rankings: list[list[Any]], k: int) -> Page: ...

    @abstractmethod
    def _credit(self, page: Page, clicked: list[int]) -> Floats: ...


def clean(ranking: Ranking, chance: Chance) -> list[Any]:
    """Documents in order without repeats; scored documents by falling score, ties at random."""
    if not isinstance(ranking, Mapping):
        return list(dict.fromkeys(map(_plain, ranking)))
    bad = [document for document, score in ranking.items() if score != score]
    if bad:
        raise ValueError(f"document {bad[0]!r} has score nan; every document needs a score")
    tied: dict[float, list[Any]] = {}
    for document, score in ranking.items():
        tied.setdefault(float(score), []).append(_plain(document))
    ordered = []
    for score in sorted(tied, reverse=True):
        left = tied[score]
        while len(left) > 1:
            ordered.append(left.pop(chance.pick([1.0] * len(left))))
        ordered.extend(left)
    return ordered


def _plain(document: Any) -> Any:
    """A document id that JSON can hold: ids taken from an array are numpy scalars."""
    return document.item() if isinstance(document, np.generic) else document
