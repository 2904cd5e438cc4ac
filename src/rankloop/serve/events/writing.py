"""Batches into the store: each record once, and clicks with the position on their page."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVarTuple

from sqlalchemy import Column, Connection, CursorResult, Select, Table, delete, select, text
from sqlalchemy.dialects import postgresql, sqlite

from rankloop.serve.events.connections import Connections, connected
from rankloop.serve.events.desk_tables import learned_pages
from rankloop.serve.events.filters import in_time
from rankloop.serve.events.records import event_row, feature_key, page_row
from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.tables import (
    clicks,
    events,
    feature_sets,
    following_pages,
    forgotten,
    forgotten_pages,
    page_features,
    pages,
)

__all__ = [
    "drop_pages",
    "forget_pages",
    "having_ids",
    "insert_new",
    "place_waiting_clicks",
    "put_events",
    "put_pages",
    "upsert",
]

_SHOWN = ("page_id", "time", "day", "query", "ranker", "layout", "experiment", "bot")
_Row = TypeVarTuple("_Row")
_EACH_ID = {
    "sqlite": text("SELECT value FROM json_each(:ids)"),
    "postgresql": text("SELECT json_array_elements_text(CAST(:ids AS json))"),
}


def put_pages(connections: Connections, shown: Sequence[ShownPage]) -> int:
    """Store pages; one that is stored already is not changed. Gives the number of new ones."""
    if not shown:
        return 0
    with connected(connections, writes=True) as connection:
        shown = _not_forgotten(connection, shown)
        if not shown:
            return 0
        sets = {names: feature_key(names) for names in {page.feature_names for page in shown}}
        known = [{"features": key, "names": json.dumps(names)} for names, key in sets.items()]
        insert_new(connection, feature_sets, known)
        matrices = [
            {"page_id": page.page_id, "time": page.time, "matrix": page.features.astype("<f4").tobytes()}
            for page in shown
        ]
        insert_new(connection, page_features, matrices)
        new = insert_new(connection, pages, [page_row(page, sets[page.feature_names]) for page in shown])
    place_waiting_clicks(connections, [page.page_id for page in shown])
    return new


def put_events(connections: Connections, happened: Sequence[Event]) -> int:
    """Store events, each once; one may come before its page. Gives the number of new ones."""
    if not happened:
        return 0
    with connected(connections, writes=True) as connection:
        gone = having_ids(
            connection,
            select(forgotten_pages.c.page_id),
            forgotten_pages.c.page_id,
            {one.page_id for one in happened},
        )
        deleted = set(gone.scalars())
        happened = [one for one in happened if one.page_id not in deleted]
        new = insert_new(connection, events, [event_row(one) for one in happened])
    clicked = ((one.page_id, one.document, one.time) for one in happened if one.kind == "click")
    _place(connections, clicked)
    return new


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> int:
    """Insert the rows whose key is new; gives their number."""
    if not rows:
        return 0
    names = list(rows[0])
    listed = ", ".join(connection.dialect.identifier_preparer.quote(name) for name in names)
    if connection.dialect.name == "sqlite":
        places = ", ".join("?" * len(names))
        into = f"INSERT INTO {table.name} ({listed}) VALUES ({places}) ON CONFLICT DO NOTHING"
        return connection.exec_driver_sql(into, [tuple(row.values()) for row in rows]).rowcount
    into = (
        f"INSERT INTO {table.name} ({listed}) "
        f"SELECT {listed} FROM json_populate_recordset(NULL::{table.name}, :rows) ON CONFLICT DO NOTHING"
    )
    whole = json.dumps(rows, ensure_ascii=False, default=_hexadecimal)
    return connection.execute(
        text(into), {"rows": whole}, execution_options={"preserve_rowcount": True}
    ).rowcount


def upsert(connection: Connection, table: Table, row: dict[str, Any]) -> None:
    """Insert a row, or change the one with its key."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    added = dialect.insert(table).values(**row)
    keys = [column.name for column in table.primary_key]
    changed = {name: added.excluded[name] for name in row if name not in keys}
    connection.execute(added.on_conflict_do_update(index_elements=keys, set_=changed))


def having_ids(
    connection: Connection,
    statement: "Select[*_Row]",
    column: Column[str],
    ids: Collection[str],
    **options: Any,
) -> "CursorResult[*_Row]":
    """The rows of a statement whose column holds one of many ids, which are sent as one JSON value.

    The value is not part of the statement: SQLAlchemy's values and table functions are reference cycles, and
    old cycles stay in memory until a full garbage collection.
    """
    chosen = statement.where(column.in_(_EACH_ID[connection.dialect.name]))
    return connection.execute(chosen, {"ids": json.dumps(list(ids))}, execution_options=options)


def _hexadecimal(blob: bytes) -> str:
    """Bytes as PostgreSQL reads them from text."""
    return "\\x" + blob.hex()


def _not_forgotten(connection: Connection, shown: Sequence[ShownPage]) -> list[ShownPage]:
    """The pages without those of people who were forgotten while the page waited in a spool.

    Their page ids are kept, as events may still come. A page without an epoch is judged by its time.
    """
    users = {page.user for page in shown if page.user is not None}
    statement = select(forgotten.c.user, forgotten.c.time, forgotten.c.epoch)
    found = having_ids(connection, statement, forgotten.c.user, users)
    rows: dict[str | None, tuple[float, int]] = {user: (time, epoch) for user, time, epoch in found}

    def is_kept(page: ShownPage) -> bool:
        if page.user not in rows:
            return True
        time, epoch = rows[page.user]
        return page.time > time if page.epoch is None else page.epoch >= epoch

    gone = [page.page_id for page in shown if not is_kept(page)]
    if gone:
        forget_pages(connection, gone)
    return [page for page in shown if is_kept(page)]


def forget_pages(connection: Connection, page_ids: Sequence[str]) -> None:
    """Delete pages with all that happened on them, and remember their ids: later events are not stored."""
    insert_new(connection, forgotten_pages, [{"page_id": page_id} for page_id in page_ids])
    drop_pages(connection, page_ids)


def drop_pages(connection: Connection, page_ids: Sequence[str]) -> None:
    """Delete pages with all that happened on them."""
    for table in (events, clicks, page_features, following_pages, learned_pages, pages):
        connection.execute(delete(table).where(table.c.page_id.in_(page_ids)))


def place_waiting_clicks(connections: Connections, page_ids: Collection[str]) -> None:
    """Give clicks that came before their page their position."""
    if not page_ids:
        return
    statement = select(events.c.page_id, events.c.document, events.c.time).where(events.c.kind == "click")
    with connected(connections, writes=False) as connection:
        waiting = having_ids(connection, statement, events.c.page_id, page_ids).all()
    _place(connections, waiting)


def _place(connections: Connections, clicked: Iterable[tuple[str, str, float]]) -> None:
    """Join clicks with pages after both are committed: of two writers, the later one sees both.

    A writer that dies in between has not deleted its batch from the spool, and joins them next time.
    """
    by_page: dict[str, list[tuple[str, float]]] = {}
    for page_id, document, time in clicked:
        by_page.setdefault(page_id, []).append((document, time))
    if not by_page:
        return
    with connected(connections, writes=False) as connection:
        placed = list(_placed(connection, by_page))
    if placed:
        with connected(connections, writes=True) as connection:
            insert_new(connection, clicks, placed)


def _placed(connection: Connection, by_page: dict[str, list[tuple[str, float]]]) -> Iterator[dict[str, Any]]:
    shown = select(*(pages.c[name] for name in _SHOWN), pages.c.documents)
    for *values, documents in having_ids(connection, shown, pages.c.page_id, by_page):
        page = dict(zip(_SHOWN, values, strict=True))
        place = {document: rank for rank, document in enumerate(json.loads(documents), 1)}
        first: dict[str, float] = {}
        for document, time in by_page[page["page_id"]]:
            if document in place and in_time(time, page["time"]):
                first[document] = min(time, first.get(document, time))
        for document, time in first.items():
            yield {**page, "document": document, "position": place[document], "clicked": time}
