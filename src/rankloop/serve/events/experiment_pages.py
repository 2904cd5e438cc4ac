"""The pages of an experiment with their clicks, for its verdict."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from rankloop.serve.events.tables import clicks, pages

__all__ = ["ExperimentPage", "experiment_pages"]


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """A page of an experiment with the documents clicked on it, from the top."""

    page_id: str
    time: float
    query: str
    user: str | None
    ranker: str
    randomness: Mapping[str, Any]
    documents: tuple[str, ...]
    clicked: tuple[str, ...]


def experiment_pages(connection: Connection, experiment: str) -> list[ExperimentPage]:
    """The pages in the order of time; crawlers are left out."""
    named = ("page_id", "time", "query", "user", "ranker", "randomness", "documents")
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
    return [
        ExperimentPage(
            page_id,
            time,
            query,
            user,
            ranker,
            json.loads(randomness or "{}"),
            tuple(json.loads(documents)),
            tuple(by_page.get(page_id, ())),
        )
        for page_id, time, query, user, ranker, randomness, documents in connection.execute(shown)
    ]
