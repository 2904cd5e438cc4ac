"""The pages and queries behind a number of the dashboard."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import ColumnElement, func, select

from rankloop.serve.events.reading import within
from rankloop.serve.events.tables import clicks, pages
from rankloop.serve.events.writing import having_ids

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["Behind", "CountedQuery", "SeenPage", "behind"]


class CountedQuery(NamedTuple):
    """A query among the pages of a number."""

    query: str
    pages: int
    clicked: int


class SeenPage(NamedTuple):
    """One page, and the ranks that were clicked on it."""

    time: float
    query: str
    ranker: str
    policy: str
    shown: int
    found: int
    clicked: tuple[int, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True)
class Behind:
    """How many pages a number has, their queries, and the last of them."""

    pages: int
    clicked: int
    queries: list[CountedQuery]
    last: list[SeenPage]


def behind(
    store: "Store",
    *,
    since: float | None = None,
    until: float | None = None,
    ranker: str = "",
    query: str | None = None,
    clicked: bool | None = None,
    position: int | None = None,
    n: int = 50,
) -> Behind:
    """Pages of people in a window: of a version, of a query, with or without a click, clicked at a rank."""
    wanted: list[ColumnElement[bool]] = [within(pages, since, until), pages.c.bot.is_(False)]
    if ranker:
        wanted.append(pages.c.ranker == ranker)
    if query is not None:
        wanted.append(pages.c.query == query)
    any_click = select(clicks.c.page_id).where(clicks.c.page_id == pages.c.page_id)
    if clicked is not None:
        wanted.append(any_click.exists() if clicked else ~any_click.exists())
    if position is not None:
        wanted.append(any_click.where(clicks.c.position == position).exists())
    hits = func.count().filter(any_click.exists())
    number = func.count().label("number")
    by_query = (
        select(pages.c.query, number, hits)
        .where(*wanted)
        .group_by(pages.c.query)
        .order_by(number.desc(), pages.c.query)
        .limit(n)
    )
    names = ("page_id", "time", "query", "ranker", "policy", "shown", "found", "documents")
    newest = select(*(pages.c[name] for name in names)).where(*wanted).order_by(pages.c.time.desc()).limit(n)
    with store.reading() as connection:
        total, with_click = connection.execute(
            select(func.count(), hits).select_from(pages).where(*wanted)
        ).one()
        queries = [CountedQuery(*row) for row in connection.execute(by_query)]
        rows = connection.execute(newest).all()
        places: dict[str, list[int]] = {}
        chosen = select(clicks.c.page_id, clicks.c.position)
        for page_id, rank in having_ids(connection, chosen, clicks.c.page_id, [row[0] for row in rows]):
            places.setdefault(page_id, []).append(rank)
    last = [
        SeenPage(
            row.time,
            row.query,
            row.ranker,
            row.policy,
            row.shown,
            row.found,
            tuple(sorted(places.get(row.page_id, ()))),
            tuple(json.loads(row.documents)),
        )
        for row in rows
    ]
    return Behind(int(total), int(with_click), queries, last)
