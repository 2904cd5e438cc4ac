"""Deleting old records, and the records of one person."""

from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, and_, delete, exists, select, text

from rankloop.serve.events.tables import clicks, events, forgotten, judgments, page_features, pages
from rankloop.serve.events.writing import upsert

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["forget", "retain"]

_AT_ONCE = 500  # pages in one transaction, so that writers do not wait long


def retain(store: "Store", days: float, now: float) -> int:
    """Delete pages shown more than `days` before `now`, their events, and events without a page."""
    if not days > 0:
        raise ValueError(f"days is above 0, got {days}")
    oldest = now - 86_400 * days
    gone = _delete_pages(store, pages.c.time < oldest)
    with store.writing() as connection:
        connection.execute(
            delete(events).where(events.c.time < oldest, ~exists().where(pages.c.page_id == events.c.page_id))
        )
        connection.execute(delete(forgotten).where(forgotten.c.time < oldest))
    return gone


def forget(store: "Store", user: str, now: float) -> int:
    """Delete the pages, events and judgments of a user, also from free pages and the WAL of SQLite."""
    if not user:
        raise ValueError("the user is empty; give the key that Signer.user_key makes")
    with store.writing() as connection:
        if connection.dialect.name == "postgresql":  # writers that do not see this row yet end first
            connection.execute(text("LOCK TABLE forgotten IN ACCESS EXCLUSIVE MODE"))
        upsert(connection, forgotten, {"user": user, "time": now})
    gone = _delete_pages(store, and_(pages.c.user == user, pages.c.time <= now))
    with store.writing() as connection:
        connection.execute(delete(judgments).where(judgments.c.user == user, judgments.c.time <= now))
    if store.connections.dialect == "sqlite":
        with store.connections.writes.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(
                text("PRAGMA wal_checkpoint(TRUNCATE)")
            )
    return gone


def _delete_pages(store: "Store", wanted: ColumnElement[bool]) -> int:
    """In batches; a page's own row is deleted last, so that an interrupted deletion can be resumed."""
    gone = 0
    while True:
        with store.writing() as connection:
            ids = connection.execute(select(pages.c.page_id).where(wanted).limit(_AT_ONCE)).scalars().all()
            for table in (events, clicks, page_features, pages):
                connection.execute(delete(table).where(table.c.page_id.in_(ids)))
        gone += len(ids)
        if len(ids) < _AT_ONCE:
            return gone
