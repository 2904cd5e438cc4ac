"""The pages of an experiment with their clicks, for its verdict."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from rankloop.serve.events.tables import clicks, pages

__all__ = ["ExperimentPage", "clicks_before", "experiment_pages"]

_PRIOR_PAGES = 2  # a person's share of clicked pages is drawn to the mean of all with this many pages


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """A page of an experiment with the documents clicked on it, from the top.

    Clicks on what people placed by hand are not among them: no version put it there.
    """

    page_id: str
    time: float
    query: str
    user: str | None
    origin: str | None
    ranker: str
    randomness: Mapping[str, Any]
    documents: tuple[str, ...]
    clicked: tuple[str, ...]


def experiment_pages(connection: Connection, experiment: str) -> list[ExperimentPage]:
    """The pages in the order of time; crawlers are left out."""
    named = ("page_id", "time", "query", "user", "origin", "ranker", "randomness", "documents")
    shown = (
        select(*(pages.c[name] for name in named))
        .where(pages.c.experiment == experiment, pages.c.bot.is_(False))
        .order_by(pages.c.time, pages.c.page_id)
    )
    clicked = (
        select(clicks.c.page_id, clicks.c.document)
        .where(clicks.c.experiment == experiment)
        .order_by(clicks.c.page_id, clicks.c.position)
    )
    by_page: dict[str, list[str]] = {}
    for page_id, document in connection.execute(clicked):
        by_page.setdefault(page_id, []).append(document)
    found = []
    for page_id, time, query, user, origin, ranker, randomness, documents in connection.execute(shown):
        drawn = json.loads(randomness or "{}")
        placed = drawn.get("hands", {}).get("placed", ())
        hits = tuple(one for one in by_page.get(page_id, ()) if one not in placed)
        ids = tuple(json.loads(documents))
        found.append(ExperimentPage(page_id, time, query, user, origin, ranker, drawn, ids, hits))
    return found


def clicks_before(connection: Connection, experiment: str, started: float) -> dict[str, float]:
    """The share of pages with a click of each person of an experiment, before it started."""
    people = (
        select(pages.c.user).where(pages.c.experiment == experiment, pages.c.user.is_not(None)).distinct()
    )
    clicked = select(clicks.c.page_id).where(clicks.c.page_id == pages.c.page_id).exists()
    before = (
        select(pages.c.user, func.count(), func.count().filter(clicked))
        .where(pages.c.user.in_(people), pages.c.time < started, pages.c.bot.is_(False))
        .group_by(pages.c.user)
    )
    counts = {user: (shown, with_click) for user, shown, with_click in connection.execute(before)}
    every = sum(shown for shown, _ in counts.values())
    mean = sum(with_click for _, with_click in counts.values()) / max(every, 1)
    return {
        user: (with_click + _PRIOR_PAGES * mean) / (shown + _PRIOR_PAGES)
        for user, (shown, with_click) in counts.items()
    }
