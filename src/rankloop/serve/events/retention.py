"""Deleting old records, and the records of one person."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, delete, exists, func, select, text

from rankloop.serve.events.tables import events, following_pages, forgotten, judgments, pages
from rankloop.serve.events.writing import drop_pages, forget_pages, upsert

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["forget", "forget_epoch", "retain"]

_AT_ONCE = 500  # pages in one transaction, so that writers do not wait long


def retain(store: "Store", days: float, now: float) -> int:
    """Delete pages shown more than `days` before `now`, their events, and events without a page."""
    if not days > 0:
        raise ValueError(f"days is above 0, got {days}")
    oldest = now - 86_400 * days
    gone = _delete_pages(store, pages.c.time < oldest, drop_pages)
    with store.writing() as connection:
        connection.execute(
            delete(events).where(events.c.time < oldest, ~exists().where(pages.c.page_id == events.c.page_id))
        )
        connection.execute(delete(following_pages).where(following_pages.c.time < oldest))
    return gone


def forget(store: "Store", user: str, now: float) -> int:
    """Delete the pages, events and judgments of a user, also from free pages and the WAL of SQLite.

    The forgetting gets a number, by which pages that come later from a spool are recognised; what the clocks
    showed then plays no part. That a person with this key was forgotten stays on record.
    """
    if not user:
        raise ValueError("the user is empty; give the key that Signer.user_key makes")
    with store.writing() as connection:
        if connection.dialect.name == "postgresql":  # writers that do not see this row yet end first
            connection.execute(text("LOCK TABLE forgotten IN ACCESS EXCLUSIVE MODE"))
        upsert(connection, forgotten, {"user": user, "time": now, "epoch": forget_epoch(connection) + 1})
    gone = _delete_pages(store, pages.c.user == user, forget_pages)
    with store.writing() as connection:
        connection.execute(delete(judgments).where(judgments.c.rater == user))
    if store.connections.dialect == "sqlite":
        with store.connections.writes.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(
                text("PRAGMA wal_checkpoint(TRUNCATE)")
            )
    return gone


def forget_epoch(connection: Connection) -> int:
    """The number of the last forgetting, from 1."""
    return int(connection.execute(select(func.max(forgotten.c.epoch))).scalar() or 0)


def _delete_pages(
    store: "Store", wanted: ColumnElement[bool], delete_some: Callable[[Connection, Sequence[str]], None]
) -> int:
    """In batches; a page's own row is deleted last, so that an interrupted deletion can be resumed."""
    gone = 0
    while True:
        with store.writing() as connection:
            ids = connection.execute(select(pages.c.page_id).where(wanted).limit(_AT_ONCE)).scalars().all()
            delete_some(connection, ids)
        gone += len(ids)
        if len(ids) < _AT_ONCE:
            return gone
