"""New rankings judged on pages that were interleaved in the past."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Floats
from rankloop._ratio import ratio
from rankloop.interleaving._chance import RandomChance
from rankloop.interleaving._outcome import error_rate
from rankloop.interleaving.method import clean
from rankloop.interleaving.page import Page, Ranking
from rankloop.interleaving.probabilistic import Probabilistic

__all__ = ["CreditDifference", "Replay", "replay"]


class CreditDifference(NamedTuple):
    """The mean credit per page of one ranking minus that of another, with its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Replay:
    """Credits of the new rankings on old pages, and the weight of each page."""

    credits: Floats
    weight: Floats

    @property
    def effective_pages(self) -> float:
        """The number of new pages with the same information (Kish)."""
        return float(self.weight.sum() ** 2 / np.maximum((self.weight**2).sum(), 1e-300))

    @property
    def mean(self) -> Floats:
        """The self-normalised mean credit of each new ranking."""
        return np.asarray(self.weight @ self.credits / self.weight.sum())

    def difference(
        self, first: int = 0, second: int = 1, *, users: Sequence[Any] | None = None, confidence: float = 0.95
    ) -> CreditDifference:
        """One new ranking against another: the weighted mean of the difference of their credits.

        With `users`, pages of one user count together. The interval is Student's t with as many degrees of
        freedom as there are effective pages (or users), corrected for skewness.
        """
        confidence = 1 - error_rate(confidence)
        if users is not None and len(users) != len(self.weight):
            raise ValueError(f"users needs one entry per page ({len(self.weight)}), got {len(users)}")
        above, below = self.weight * (self.credits[:, first] - self.credits[:, second]), self.weight
        if users is not None:
            person = np.unique(np.asarray(users), return_inverse=True)[1]
            above, below = (np.asarray(np.bincount(person, one), np.float64) for one in (above, below))
        found = ratio(above, below, confidence=confidence)
        return CreditDifference(found.value, found.low, found.high)


def replay(
    pages: Sequence[Page],
    clicks: Sequence[Iterable[Any]],
    new: Sequence[Sequence[Ranking]],
    *,
    tau: float = 3.0,
) -> Replay:
    """Re-weight pages of `Probabilistic` as if the `new` rankings had made them (Hofmann et al., 2012).

    `new` holds, page by page, the rankings to judge: any number, with or without one that made the page.
    The weight of a page is its probability under the new rankings divided by the one noted with it; credit is
    marginalised over the new rankings. The old rankings must have held every document of the new ones, else
    the estimate covers only what was shown.

    >>> duel = Probabilistic(seed=0)
    >>> rankings = [["a", "b", "c"], ["c", "b", "a"]]
    >>> pages = [duel.combine(rankings, k=3) for _ in range(200)]
    >>> past = replay(pages, [["a"]] * 200, [rankings] * 200)
    >>> round(past.effective_pages), bool(past.difference().low > 0)
    (200, True)
    """
    given = (len(pages), len(clicks), len(new))
    if len(set(given)) > 1:
        raise ValueError("each page needs its clicks and new rankings, got {}, {}, {}".format(*given))
    if not pages:
        raise ValueError("there are no pages to replay")
    wrong = [page.method for page in pages if page.method != Probabilistic.name]
    if wrong:
        raise ValueError(
            f"only probabilistic interleaving shows every order and can be replayed, not {wrong[0]!r}"
        )
    many = {len(rankings) for rankings in new}
    if len(many) > 1:
        raise ValueError(
            f"every page needs the same new rankings, got {min(many)} here and {max(many)} there"
        )
    how = Probabilistic(tau=tau)
    credits, weights = [], []
    for page, clicked, rankings in zip(pages, clicks, new, strict=True):
        if "log_probability" not in page.notes:
            raise ValueError(
                "a page was logged without its probability (log_probability) and cannot be replayed"
            )
        log_probability, shares = how.page_probability(
            page.documents, [clean(ranking, RandomChance(0)) for ranking in rankings]
        )
        seen = [share for index in page.clicked(clicked) if (share := shares[index]) is not None]
        credits.append(np.sum(seen, axis=0) if seen else np.zeros(len(rankings)))
        weights.append(np.exp(log_probability - page.notes["log_probability"]))
    if not any(weights):
        raise ValueError("the new rankings could have made none of these pages; do the documents match?")
    return Replay(np.array(credits), np.array(weights))
