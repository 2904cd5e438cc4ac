"""Batches into the store: each record once, and clicks put where their page showed them."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, Table, bindparam, cast, func, select
from sqlalchemy.dialects import postgresql, sqlite

from rankloop.serve._engine import connected
from rankloop.serve._records import event_row, feature_key, page_row
from rankloop.serve.filtering import in_time
from rankloop.serve.shown import Event, ShownPage
from rankloop.serve.tables import clicks, events, feature_sets, page_features, pages

__all__ = ["insert_new", "parts", "put_events", "put_pages"]

_AT_ONCE = 500  # ids in one IN (...)


def put_pages(engine: Engine, shown: Sequence[ShownPage]) -> int:
    """Record pages; one that is there already stays as it is. Gives how many were new."""
    if not shown:
        return 0
    sets = {names: feature_key(names) for names in {page.feature_names for page in shown}}
    with connected(engine, writes=True) as connection:
        known = [{"features": key, "names": json.dumps(names)} for names, key in sets.items()]
        insert_new(connection, feature_sets, known)
        matrices = [
            {"page_id": page.page_id, "time": page.time, "matrix": page.features.astype("<f4").tobytes()}
            for page in shown
        ]
        insert_new(connection, page_features, matrices)
        new = insert_new(connection, pages, [page_row(page, sets[page.feature_names]) for page in shown])
    _place_clicks(engine, [page.page_id for page in shown])
    return new


def put_events(engine: Engine, happened: Sequence[Event]) -> int:
    """Record events, each once; one may come before its page. Gives how many were new."""
    if not happened:
        return 0
    with connected(engine, writes=True) as connection:
        new = insert_new(connection, events, [event_row(one) for one in happened])
    _place_clicks(engine, [one.page_id for one in happened if one.kind == "click"])
    return new


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> int:
    """Insert the rows whose key is new; gives how many were."""
    if not rows:
        return 0
    counting = {"preserve_rowcount": True}
    if connection.dialect.name == "sqlite":
        into = sqlite.insert(table).on_conflict_do_nothing()
        return connection.execute(into, rows, execution_options=counting).rowcount
    names = tuple(rows[0])
    arrays = {name: [row[name] for row in rows] for name in names}
    return connection.execute(_insert_arrays(table, names), arrays, execution_options=counting).rowcount


@cache
def _insert_arrays(table: Table, names: tuple[str, ...]) -> postgresql.Insert:
    """One statement for any number of rows: a column each, as PostgreSQL's arrays."""
    columns = [cast(bindparam(name), postgresql.ARRAY(table.c[name].type)) for name in names]
    rows = select(func.unnest(*columns).table_valued(*names).render_derived())
    return postgresql.insert(table).from_select(list(names), rows).on_conflict_do_nothing()


def parts(ids: Iterable[str]) -> Iterator[list[str]]:
    """Distinct ids, a few hundred at a time."""
    distinct = list(dict.fromkeys(ids))
    for first in range(0, len(distinct), _AT_ONCE):
        yield distinct[first : first + _AT_ONCE]


def _place_clicks(engine: Engine, page_ids: Iterable[str]) -> None:
    """Clicks and pages are joined after both are committed: of two writers, the later one sees both.

    A writer that dies in between has not taken its batch off the spool, and joins them next time.
    """
    with connected(engine, writes=False) as connection:
        placed = [row for some in parts(page_ids) for row in _placed(connection, some)]
    if placed:
        with connected(engine, writes=True) as connection:
            insert_new(connection, clicks, placed)


def _placed(connection: Connection, page_ids: list[str]) -> Iterator[dict[str, Any]]:
    clicked: dict[str, list[tuple[str, float]]] = {}
    rows = select(events.c.page_id, events.c.document, events.c.time).where(
        events.c.page_id.in_(page_ids), events.c.kind == "click"
    )
    for page_id, document, time in connection.execute(rows):
        clicked.setdefault(page_id, []).append((document, time))
    if not clicked:
        return
    told = ("page_id", "time", "day", "query", "ranker", "layout", "experiment", "bot")
    shown = select(pages.c.documents, *(pages.c[name] for name in told)).where(pages.c.page_id.in_(clicked))
    for page in connection.execute(shown).mappings():
        place = {document: rank for rank, document in enumerate(json.loads(page["documents"]), 1)}
        first: dict[str, float] = {}
        for document, time in clicked[page["page_id"]]:
            if document in place and in_time(time, page["time"]):
                first[document] = min(time, first.get(document, time))
        for document, time in first.items():
            row = {"document": document, "position": place[document], "clicked": time}
            yield {**{name: page[name] for name in told}, **row}
