"""Connections to the event store: SQLite in WAL mode, or PostgreSQL, with the same tables and errors."""

import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
from rankloop.serve.events.desk_tables import metadata
from rankloop.serve.events.migrations import migrate
from rankloop.serve.events.tables import SCHEMA, schema_version
from rankloop.serve.events.time_limit import cut_after, time_left

__all__ = ["Connections", "StoreAway", "alone", "connected", "in_turn", "open_connections"]

_BUSY = 5.0  # seconds to wait for another writer of SQLite, or for a connection that others use
_PING = 3.0  # seconds in which PostgreSQL must say that a connection works, or accept a new one
_GRACE = 1.0  # seconds for PostgreSQL to end a statement by itself, before the connection is cut
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 30_000}
_READERS, _MORE_READERS = 2, 13  # connections to a SQLite file that stay open, and more while they are needed
_WRITER_CACHE = 32 << 10  # kilobytes that a large batch changes before they are written
_AWAY = (OperationalError, InterfaceError, DisconnectionError, TimeoutError)
_ONE_MAKER = 0x72616E6B  # PostgreSQL's advisory lock while tables are made


class StoreAway(ConnectionError):  # noqa: N818 - it reads aloud
    """The database does not answer; what waits in the spool is not lost."""


@dataclass(frozen=True)
class Connections:
    """The pools of connections to a store, to read and to write; with PostgreSQL both are one pool."""

    reads: Engine
    writes: Engine
    made: threading.Event = field(default_factory=threading.Event)  # set when its tables are there

    @property
    def dialect(self) -> str:
        return self.writes.dialect.name

    @property
    def name(self) -> str:
        """Where the store is, without its password."""
        return self.writes.url.render_as_string(hide_password=True)

    def dispose(self) -> None:
        """Close what is open; new connections can still be made."""
        self.reads.dispose()
        self.writes.dispose()


def open_connections(url: str, *, later: bool = False) -> Connections:
    """Connections to a store with the tables of this version; they are made where there are none.

    With `later` a database that does not answer is no error: its tables are made when it does.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ValueError(
            "a store is sqlite:///path or postgresql+psycopg://user:password@host/name; this URL is neither"
        ) from None
    if parsed.get_backend_name() == "sqlite":
        connections = _sqlite(parsed)
    elif parsed.get_backend_name() == "postgresql":
        connections = _postgresql(parsed)
    else:
        raise ValueError(
            f"a store is sqlite:///path or postgresql+psycopg://..., got {parsed.get_backend_name()!r}"
        )
    try:
        _make_tables(connections)
    except StoreAway:
        connections.dispose()
        if not later:
            raise
    except BaseException:
        connections.dispose()
        raise
    return connections


@contextmanager
def connected(connections: Connections, *, writes: bool) -> Iterator[Connection]:
    """A connection in one transaction; `StoreAway` where the database does not answer."""
    if not connections.made.is_set():
        _make_tables(connections)
    with _transaction(connections, writes=writes) as connection:
        yield connection


@contextmanager
def _transaction(connections: Connections, *, writes: bool) -> Iterator[Connection]:
    engine, left = connections.writes if writes else connections.reads, time_left()
    if left <= 0:
        raise StoreAway(f"the event store {connections.name} does not answer in time")
    with (
        _away(connections),
        engine.connect().execution_options(writes=writes) as connection,
        cut_after(connection.connection.dbapi_connection, left + _GRACE),
        connection.begin(),
    ):
        if left < math.inf and connections.dialect == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {math.ceil(1000 * left)}")
        yield connection


@contextmanager
def _away(connections: Connections) -> Iterator[None]:
    """What the database says where it does not answer, as a `StoreAway`."""
    try:
        yield
    except _AWAY as error:
        lines = str(getattr(error, "orig", None) or error).strip().splitlines() or ["no answer"]
        raise StoreAway(f"the event store {connections.name} does not answer: {lines[0]}") from error


@contextmanager
def alone(connections: Connections, work: str) -> Iterator[None]:
    """Held by one service at a time on PostgreSQL; a ValueError where another one does this work.

    It is given back before this returns; where the process is killed, the server does it with the connection.
    """
    if connections.dialect != "postgresql":
        yield
        return
    take = text("SELECT pg_try_advisory_lock(hashtext(current_schema()), hashtext(:work))")
    give = text("SELECT pg_advisory_unlock(hashtext(current_schema()), hashtext(:work))")
    with _away(connections):
        held = connections.writes.connect().execution_options(isolation_level="AUTOCOMMIT")
    with held:
        with _away(connections):
            held.detach()  # closed at the end, not kept for others
            free = held.execute(take, {"work": work}).scalar()
        if not free:
            raise ValueError(f"another service on {connections.name} is busy with {work}; wait until it ends")
        try:
            yield
        finally:
            with suppress(*_AWAY):  # the server has given it back where the connection is gone
                held.execute(give, {"work": work})


def in_turn(connection: Connection, work: str) -> None:
    """Wait until no other service does this work, and have others wait until the end of the transaction."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        statement = text("SELECT pg_advisory_xact_lock(hashtext(current_schema()), hashtext(:work))")
        connection.execute(statement, {"work": work})


def _postgresql(url: URL) -> Connections:
    """One pool; a connection is tried before it is used, for a limited time: its server may hang."""
    psycopg = require("psycopg", "postgres")
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_timeout=_BUSY,
        hide_parameters=True,
        connect_args={"connect_timeout": int(_PING), **_ALIVE},
    )

    @event.listens_for(engine, "checkout")
    def answers(connection: Any, record: Any, proxy: Any) -> None:
        try:
            with cut_after(connection, _PING):
                engine.dialect.do_ping(connection)
        except psycopg.Error as error:
            raise DisconnectionError(str(error)) from error

    return Connections(engine, engine)


def _sqlite(url: URL) -> Connections:
    """One connection writes, as SQLite has one writer at a time; others read, and few of them stay open.

    Only the writer has a large cache: its commits invalidate those of all others. The file is not mapped
    into memory: a mapping counts as the process's own memory, and grows with the file.
    """
    if not url.database or url.database == ":memory:":
        raise ValueError("events are kept in a file: sqlite:///events.db")
    path = Path(url.database).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    writes = _of_file(url, path, pool_size=1, max_overflow=0, pool_timeout=_BUSY)
    reads = _of_file(
        url, path, pool_size=_READERS, max_overflow=_MORE_READERS, pool_timeout=_BUSY, pool_use_lifo=True
    )

    @event.listens_for(writes, "connect")
    def opened(connection: sqlite3.Connection, record: Any) -> None:
        connection.execute(f"PRAGMA cache_size=-{_WRITER_CACHE}")

    return Connections(reads, writes)


def _of_file(url: URL, path: Path, **pool: Any) -> Engine:
    engine = create_engine(url, creator=lambda: _open_file(path), hide_parameters=True, **pool)

    @event.listens_for(engine, "connect")
    def opened(connection: sqlite3.Connection, record: Any) -> None:
        _use_wal(connection)
        connection.execute("PRAGMA synchronous=FULL")  # batches are large, so a flush costs little
        connection.execute("PRAGMA journal_size_limit=67108864")  # a WAL that grew in a long read shrinks
        connection.execute("PRAGMA secure_delete=ON")  # deleted people are not left in free pages
        connection.execute("PRAGMA mmap_size=0")
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


def _use_wal(connection: sqlite3.Connection) -> None:
    """Write ahead; of processes that do this to a new file together, SQLite lets all but one fail at once."""
    until = time.monotonic() + _BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _open_file(path: Path) -> sqlite3.Connection:
    """Opens an existing file; one that was deleted is not created again."""
    return sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _make_tables(connections: Connections) -> None:
    """Tables are made once, by the first worker; those of an earlier schema are brought up to date."""
    try:
        with _transaction(connections, writes=True) as connection:
            _bring_up_to_date(connections, connection)
    except DatabaseError as error:
        raise ValueError(f"{connections.name} is not an event store: {error.orig}") from error
    connections.made.set()


def _bring_up_to_date(connections: Connections, connection: Connection) -> None:
    if connections.dialect == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ONE_MAKER})
    schema_version.create(connection, checkfirst=True)
    version = connection.execute(select(schema_version.c.version)).scalar()
    if version is None:
        connection.execute(insert(schema_version), {"version": SCHEMA})
    elif version > SCHEMA:
        raise ValueError(
            f"the event store {connections.name} has schema {version}, written by a newer rankloop; "
            f"this one reads schema {SCHEMA}: upgrade rankloop"
        )
    elif version < SCHEMA:
        try:
            migrate(connection, version)
        except LookupError:
            raise ValueError(
                f"the event store {connections.name} has schema {version}, written by an older rankloop; "
                "delete it, or name another folder or database in the config, and start again"
            ) from None
    metadata.create_all(connection)
