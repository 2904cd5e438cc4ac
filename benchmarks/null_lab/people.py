"""People who search: how many pages each makes, and what they click on pages of documents."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloop.clicks import ClickLog

__all__ = ["CROWDS", "Crowd", "log_of", "visits"]

CROWDS = ("light", "zipf", "heavy")  # light: 1 + Poisson(1) pages; Zipf 1.6; 2 % with 200 pages or more
MOST = 3000  # pages of one person

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def visits(rng: np.random.Generator, people: int, crowd: str) -> Ints:
    """The number of pages of each person."""
    light = 1 + rng.poisson(1.0, people)
    if crowd == "light":
        return light
    if crowd == "zipf":
        return np.minimum(rng.zipf(1.6, people), MOST)
    return np.where(rng.random(people) < 0.02, rng.integers(200, 400, people), light)


@dataclass(frozen=True)
class Crowd:
    """Pages of `people` on `queries` of `documents` each, of which the first `shown` are seen.

    Each page is ordered by a draw of its own, or in one order with one exchange ("swap", "adjacent"), all
    pairs ("fairpairs") or everything ("shuffle") at random. `own` says how far each person's curve differs
    from the common one: the exponent of 1 / rank is log-normal with this spread.
    """

    queries: int = 60
    documents: int = 4
    shown: int = 4
    users: str = "pbm"  # "pbm", "cascade" or "trust"
    design: str = "shuffle"
    own: float = 0.0
    eta: float = 1.0

    def curve(self) -> Floats:
        """The mean over people of the probability that each rank is examined."""
        ranks = np.arange(1.0, self.shown + 1)
        if self.own == 0:
            return ranks**-self.eta
        draws = np.random.default_rng(0).lognormal(-(self.own**2) / 2, self.own, 400_000)
        return np.array([np.mean(rank ** -(self.eta * draws)) for rank in ranks])


def log_of(crowd: Crowd, person: Ints, rng: np.random.Generator) -> tuple[ClickLog, Floats]:
    """A log with one page for each entry of `person`, and the relevance of each document of each query."""
    pages, k = len(person), crowd.shown
    relevance = rng.beta(1.0, 2.0, (crowd.queries, crowd.documents))
    query = rng.integers(0, crowd.queries, pages)
    base = np.argsort(-(relevance + 0.3 * rng.normal(size=relevance.shape)), axis=1)
    order, original, name = _ordered(crowd, base[query], rng)
    document, original = order[:, :k], original[:, :k]
    gamma = relevance[query[:, None], document]
    people = int(person.max()) + 1
    spread = rng.lognormal(-(crowd.own**2) / 2, crowd.own, people) if crowd.own else np.ones(people)
    ranks = np.arange(1.0, k + 1)
    seen = ranks ** -(crowd.eta * spread[person, None])
    if crowd.users == "cascade":  # reads on until satisfied, and seldom past a click
        above = np.concatenate([np.ones((pages, 1)), np.cumprod(1 - 0.9 * gamma, axis=1)[:, :-1]], axis=1)
        chance = gamma * above
    elif crowd.users == "trust":  # clicks on high ranks whatever is there
        chance = seen * (gamma + (1 - gamma) * 0.5 / ranks)
    else:
        chance = seen * gamma
    click = rng.random((pages, k)) < chance
    rows = np.repeat(np.arange(pages), k)
    log = ClickLog(
        rows,
        query[rows],
        (query[:, None] * crowd.documents + document).ravel(),
        np.tile(np.arange(1, k + 1), pages),
        click.ravel().astype(np.int8),
        user=person[rows],
        timestamp=rows.astype(np.float64),
        intervention=np.repeat(name, k),
        original_position=original.ravel(),
    )
    return log, relevance


def _ordered(crowd: Crowd, base: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, NDArray[np.str_]]:
    """The documents of each page, the rank of each before the experiment, and the experiment."""
    pages, n = base.shape
    place = np.tile(np.arange(n), (pages, 1))
    k = crowd.shown
    each = np.arange(pages)
    if crowd.design == "shuffle":
        place[:, :k] = np.argsort(rng.random((pages, k)), axis=1)
        name = np.full(pages, f"shuffle {k}")
    elif crowd.design == "draws":  # a stochastic ranker, which may show any document
        place = np.argsort(place + 1.5 * rng.gumbel(size=place.shape), axis=1)
        name = np.full(pages, "none")
    elif crowd.design == "fairpairs":
        odd = rng.random(pages) < 0.5
        for start in range(k - 1):
            turn = (rng.random(pages) < 0.5) & (odd == (start % 2 == 0))
            place[turn, start], place[turn, start + 1] = place[turn, start + 1], place[turn, start].copy()
        name = np.where(odd, "fairpairs odd", "fairpairs even")
    else:
        low = np.zeros(pages, np.int64) if crowd.design == "swap" else rng.integers(0, k - 1, pages)
        high = rng.integers(1, k, pages) if crowd.design == "swap" else low + 1
        turn = rng.random(pages) < 0.5
        at = each[turn]
        place[at, low[turn]], place[at, high[turn]] = place[at, high[turn]], place[at, low[turn]].copy()
        names = np.array([[f"swap {a}-{b}" for b in range(1, n + 1)] for a in range(1, n + 1)])
        name = names[low, high]
    return np.take_along_axis(base, place, axis=1), place + 1, name
