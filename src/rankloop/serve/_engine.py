"""Connections to the event store: SQLite in WAL mode, or PostgreSQL; one schema, and one error when away."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DisconnectionError,
    InterfaceError,
    OperationalError,
    TimeoutError,
)

from rankloop._extras import require
from rankloop.serve.tables import SCHEMA, metadata, schema_version

__all__ = ["StoreAway", "connected", "name_of", "open_engine"]

_BUSY = 5.0  # seconds to wait for another writer of SQLite
_AWAY = (OperationalError, InterfaceError, DisconnectionError, TimeoutError)
_ONE_MAKER = 0x72616E6B  # PostgreSQL's advisory lock while tables are made


class StoreAway(ConnectionError):  # noqa: N818 - it reads aloud
    """The database does not answer now; what waits in the spool is not lost."""


def open_engine(url: str) -> Engine:
    """An engine whose tables are there and are of this version's schema."""
    try:
        told = make_url(url)
    except ArgumentError:
        raise ValueError(
            "a store is sqlite:///path or postgresql+psycopg://user:password@host/name; this is no such URL"
        ) from None
    if told.get_backend_name() == "sqlite":
        engine = _sqlite(told)
    elif told.get_backend_name() == "postgresql":
        require("psycopg", "postgres")
        engine = create_engine(
            told.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={"connect_timeout": 3},
        )
    else:
        raise ValueError(
            f"a store is sqlite:///path or postgresql+psycopg://..., got {told.get_backend_name()!r}"
        )
    try:
        _make_tables(engine)
    except BaseException as error:
        engine.dispose()
        if isinstance(error, DatabaseError):
            raise ValueError(f"{name_of(engine)} is not an event store: {error.orig}") from error
        raise
    return engine


@contextmanager
def connected(engine: Engine, *, writes: bool) -> Iterator[Connection]:
    """A connection in one transaction; `StoreAway` where there is none to be had."""
    try:
        with engine.connect().execution_options(writes=writes) as connection, connection.begin():
            yield connection
    except _AWAY as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines() or ["no answer"]
        raise StoreAway(f"the event store {name_of(engine)} does not answer: {said[0]}") from error


def name_of(engine: Engine) -> str:
    """Where the store is, without its password."""
    return engine.url.render_as_string(hide_password=True)


def _sqlite(url: URL) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ValueError("events are kept in a file: sqlite:///events.db")
    path = Path(url.database).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    engine = create_engine(url, creator=lambda: _open_file(path), hide_parameters=True)

    @event.listens_for(engine, "connect")
    def opened(connection: sqlite3.Connection, record: Any) -> None:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # batches are large, so safety costs little
        connection.execute("PRAGMA journal_size_limit=67108864")  # what a long read let grow shrinks again
        connection.execute("PRAGMA secure_delete=ON")  # who is forgotten is not left in free pages
        connection.execute("PRAGMA cache_size=-32768")
        connection.execute("PRAGMA mmap_size=268435456")
        record.info["file"] = _identity(path)

    @event.listens_for(engine, "checkout")
    def same_file(connection: Any, record: Any, proxy: Any) -> None:
        """A file that was moved away must not take writes under its new name."""
        if record.info["file"] != _identity(path):
            raise DisconnectionError(f"{path} is not the file that was opened")

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _open_file(path: Path) -> sqlite3.Connection:
    """Opens what is there: a file that has gone away is not made anew behind its owner's back."""
    return sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _make_tables(engine: Engine) -> None:
    """Tables are made once, whichever worker comes first; those of a newer version are refused."""
    with connected(engine, writes=True) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ONE_MAKER})
        schema_version.create(connection, checkfirst=True)
        version = connection.execute(select(schema_version.c.version)).scalar()
        if version is None:
            connection.execute(insert(schema_version), {"version": SCHEMA})
        elif version > SCHEMA:
            raise ValueError(
                f"the event store {name_of(engine)} has schema {version}, written by a newer rankloop; "
                f"this one reads schemas up to {SCHEMA}: upgrade rankloop"
            )
        metadata.create_all(connection)
