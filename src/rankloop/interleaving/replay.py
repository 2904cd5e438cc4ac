"""A new ranker judged on pages that were interleaved in the past."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.interleaving._chance import RandomChance
from rankloop.interleaving._method import _clean
from rankloop.interleaving.page import Page, Ranking
from rankloop.interleaving.probabilistic import Probabilistic, posterior

__all__ = ["Replay", "replay"]


@dataclass(frozen=True, slots=True)
class Replay:
    """Credits of the new rankings on old pages, and how much each page counts."""

    credits: NDArray[np.float64]
    weight: NDArray[np.float64]

    @property
    def effective_pages(self) -> float:
        """The number of fresh pages that would say as much."""
        return float(self.weight.sum() ** 2 / np.maximum((self.weight**2).sum(), 1e-300))

    @property
    def mean(self) -> NDArray[np.float64]:
        """The self-normalised mean credit of each new ranking."""
        return np.asarray(self.weight @ self.credits / self.weight.sum())


def replay(
    pages: Sequence[Page],
    clicks: Sequence[Iterable[Any]],
    shown: Sequence[Sequence[Ranking]],
    new: Sequence[Sequence[Ranking]],
    *,
    tau: float = 3.0,
) -> Replay:
    """Re-weigh pages of `Probabilistic` as if the `new` rankings had made them (Hofmann et al., 2012).

    `shown` and `new` hold the rankings behind each page: those that made it, and those to judge. The weight
    of a page is its probability under the new rankings over that under the old ones, with credit
    marginalised over the new rankings. Old rankings must hold every document of the new ones, or the
    estimate is of what was shown only.

    >>> duel = Probabilistic(seed=0)
    >>> old = [[["a", "b", "c"], ["c", "b", "a"]]] * 200
    >>> pages = [duel.combine(rankings, k=3) for rankings in old]
    >>> clicks = [["a"]] * 200
    >>> replay(pages, clicks, old, old).effective_pages
    200.0
    """
    given = (len(pages), len(clicks), len(shown), len(new))
    if len(set(given)) > 1:
        raise ValueError(
            "each page needs its clicks, shown and new rankings, got {}, {}, {}, {}".format(*given)
        )
    if not pages:
        raise ValueError("there are no pages to replay")
    wrong = [page.method for page in pages if page.method != Probabilistic.name]
    if wrong:
        raise ValueError(
            f"only probabilistic interleaving shows every order and can be replayed, not {wrong[0]!r}"
        )
    credits, weights = [], []
    for page, clicked, before, after in zip(pages, clicks, shown, new, strict=True):
        old_log, _ = _page_chance(page, before, float(page.notes["tau"]))
        new_log, shares = _page_chance(page, after, tau)
        credit = np.zeros(len(after))
        for index in page.clicked(clicked):
            share = shares[index]
            if share is not None:
                credit += share
        credits.append(credit)
        weights.append(np.exp(new_log - old_log))
    return Replay(np.array(credits), np.array(weights))


def _page_chance(
    page: Page, rankings: Sequence[Ranking], tau: float
) -> tuple[float, list[list[float] | None]]:
    """The log-probability of the page's order, and who drew each document."""
    method = Probabilistic(tau=tau)
    weights = [method.weights(_clean(ranking, RandomChance(0))) for ranking in rankings]
    log_probability = 0.0
    shares: list[list[float] | None] = []
    for document in page.documents:
        drawing = [left for left in weights if left]
        chances = [left.get(document, 0.0) / sum(left.values()) for left in drawing]
        if not sum(chances):
            return -np.inf, [None] * len(page)
        log_probability += float(np.log(sum(chances) / len(drawing)))
        shares.append(posterior(weights, document))
        for left in weights:
            left.pop(document, None)
    return log_probability, shares
