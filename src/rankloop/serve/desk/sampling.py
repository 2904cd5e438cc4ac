"""Queries drawn from the log, so that a weighted mean over them estimates the mean over what people ask."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import func, select

from rankloop._arrays import Floats, Ints
from rankloop._names import one_of
from rankloop.serve.desk.query_sets import SetQuery
from rankloop.serve.events.reading import within
from rankloop.serve.events.tables import pages

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["WAYS", "Asked", "asked_queries", "drawn", "sampled_queries"]

WAYS = ("frequency", "stratified", "failing")
STRATA = ("head", "torso", "tail")


class Asked(NamedTuple):
    """How often a query was asked: by each person once, so that nobody can fill a sample alone."""

    query: str
    people: int


def asked_queries(store: "Store", *, since: float | None = None, until: float | None = None) -> list[Asked]:
    """All queries of people in a window; a page without a person counts as one."""
    people = func.count(func.coalesce(pages.c.user, pages.c.page_id).distinct())
    statement = (
        select(pages.c.query, people)
        .where(within(pages, since, until), pages.c.bot.is_(False), pages.c.query != "")
        .group_by(pages.c.query)
        .order_by(pages.c.query)
    )
    with store.reading() as connection:
        return [Asked(query, int(number)) for query, number in connection.execute(statement)]


def sampled_queries(
    store: "Store", way: str, n: int, *, since: float | None = None, until: float | None = None, seed: int = 0
) -> list[SetQuery]:
    """`n` queries of the log: "frequency", "stratified" (a third each of head, torso, tail), or "failing".

    The first two are random samples with weights. "failing" takes those with most pages on which nothing was
    clicked or the query was changed; its weights are those pages, and it is no sample of the traffic.
    """
    one_of("way to sample", way, WAYS)
    if n < 1:
        raise ValueError(f"at least one query is sampled, got {n}")
    if way == "failing":
        worst = store.worst_queries(n, since=since, until=until)
        failed = [(one.query, one.pages - one.clicked_pages + one.reformulated) for one in worst]
        found = [SetQuery(query, float(pages), "failing") for query, pages in failed if query.strip()]
    else:
        asked = asked_queries(store, since=since, until=until)
        found = drawn(asked, n, np.random.default_rng(seed), strata=STRATA if way == "stratified" else ("",))
    if not found:
        raise ValueError("nobody searched in this window; widen it, or wait for people to search")
    return found


def drawn(
    asked: Sequence[Asked], n: int, rng: np.random.Generator, *, strata: Sequence[str] = ("",)
) -> list[SetQuery]:
    """A sample with probabilities by frequency, in each stratum; weights are frequency over probability.

    The weighted mean of any value over the sample estimates its mean over all pages (Horvitz and Thompson,
    1952; Madow, 1949). Weights sum to 1 on average.
    """
    total = sum(one.people for one in asked)
    order = sorted(asked, key=lambda one: (-one.people, one.query))
    counts = np.array([one.people for one in order], np.float64)
    above = np.cumsum(counts) - counts  # the traffic of more frequent queries
    place = np.minimum((above / max(total, 1) * len(strata)).astype(np.int64), len(strata) - 1)
    found: list[SetQuery] = []
    left = n
    for number, stratum in enumerate(strata):
        inside = np.flatnonzero(place == number)
        wanted = min(left // (len(strata) - number), len(inside))  # what a short head leaves is the tail's
        left -= wanted
        chances = _chances(counts[inside], wanted)
        for at in _systematic(chances, rng).tolist():
            one = order[inside[at]]
            found.append(SetQuery(one.query, float(one.people / chances[at] / total), stratum))
    return found


def _chances(counts: Floats, n: int) -> Floats:
    """Probabilities proportional to the counts, at most 1, that sum to `n` or to all there are."""
    chances = np.zeros(len(counts))
    if n >= len(counts):
        return np.ones(len(counts))
    sure = np.zeros(len(counts), bool)
    while n > 0:
        chances = np.where(sure, 1.0, counts * (n - sure.sum()) / max(counts[~sure].sum(), 1e-300))
        more = chances > 1
        if not more.any():
            break
        sure |= more
    return np.minimum(chances, 1.0)


def _systematic(chances: Floats, rng: np.random.Generator) -> Ints:
    """A random sample in which each item has its probability and the size is fixed."""
    order = rng.permutation(len(chances))
    ends = np.cumsum(chances[order])
    if not len(ends):
        return order.astype(np.int64)
    marks = np.floor(ends + rng.random())
    taken = np.diff(marks, prepend=0.0) > 0
    return np.sort(order[taken]).astype(np.int64)
