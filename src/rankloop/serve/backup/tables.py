"""The tables of the event store in files, in no database's format: what one kind wrote, another reads."""

import base64
import io
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import zstandard
from sqlalchemy import Connection, LargeBinary, Table, func, insert, select, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from rankloop._progress import progress
from rankloop.serve.events.store import Store
from rankloop.serve.events.tables import metadata, models, pages, schema_version

__all__ = ["SUFFIX", "has_rows", "read_tables", "write_tables"]

SUFFIX = ".jsonl.zst"
BATCH = 1000  # rows
LONGEST = 64 << 20  # characters of a row
RATIO = 1000  # times its size that a file may unpack to


def write_tables(store: Store, folder: Path) -> dict[str, int]:
    """Write every table as of one moment; gives the number of rows by table."""
    counts = {}
    with store.reading() as connection, progress("store", None) as advance:
        if store.connections.dialect == "postgresql":
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        for table in _tables():
            counts[table.name] = _write(connection, table, folder / f"{table.name}{SUFFIX}")
            advance(counts[table.name], table.name)
    return counts


def read_tables(store: Store, folder: Path) -> dict[str, int]:
    """Put all rows into the tables of an empty store, all or none; gives their number by table."""
    counts = {}
    with store.writing() as connection, progress("store", None) as advance:
        for table in _tables():
            path = folder / f"{table.name}{SUFFIX}"
            counts[table.name] = _read(connection, table, path) if path.exists() else 0
            advance(counts[table.name], table.name)
    return counts


def has_rows(store: Store) -> bool:
    """Whether anything was recorded or registered in a store."""
    with store.reading() as connection:
        return any(
            connection.execute(select(func.count()).select_from(select(one).limit(1).subquery())).scalar()
            for one in (pages, models)
        )


def _tables() -> list[Table]:
    """All but the number of the schema, which a new store has."""
    return [table for table in metadata.sorted_tables if table is not schema_version]


def _write(connection: Connection, table: Table, path: Path) -> int:
    """The names of the columns, then one row a line; bytes as base64."""
    names = [column.name for column in table.columns]
    binary = _binary(table, names)
    count = 0
    with path.open("wb") as file, zstandard.ZstdCompressor(level=3).stream_writer(file) as packed:
        packed.write(json.dumps(names).encode() + b"\n")
        rows = connection.execution_options(yield_per=BATCH).execute(select(table))
        for some in rows.partitions():
            lines = []
            for row in some:
                values = list(row)
                for at in binary:
                    if values[at] is not None:
                        values[at] = base64.b64encode(values[at]).decode()
                lines.append(json.dumps(values))
            packed.write(("\n".join(lines) + "\n").encode())
            count += len(some)
    return count


def _read(connection: Connection, table: Table, path: Path) -> int:
    count, rows = 0, _rows(table, path)
    while some := list(islice(rows, BATCH)):
        try:
            connection.execute(insert(table), some)
        except OperationalError:
            raise
        except (SQLAlchemyError, OverflowError) as error:  # values that the table does not take
            raise _damaged(path, str(error).splitlines()[0][:200]) from None
        count += len(some)
    return count


def _rows(table: Table, path: Path) -> Iterator[dict[str, Any]]:
    lines = _lines(path)
    names = next(lines, None)
    if names is None or not all(isinstance(name, str) for name in names):
        raise _damaged(path, "it has no names of columns")
    unknown = [name for name in names if name not in table.columns]
    if unknown:
        raise ValueError(
            f"the backup has a column {unknown[0]!r} of {table.name}, which this rankloop does not know; "
            "upgrade rankloop"
        )
    binary = _binary(table, names)
    for values in lines:
        if len(values) != len(names) or any(isinstance(one, list | dict) for one in values):
            raise _damaged(path, "a row does not fit its columns")
        for at in binary:
            if values[at] is not None:
                try:
                    values[at] = base64.b64decode(values[at])
                except (TypeError, ValueError) as error:
                    raise _damaged(path, str(error)) from None
        yield dict(zip(names, values, strict=True))


def _lines(path: Path) -> Iterator[list[Any]]:
    """The lists of a file, one a line; sizes are bounded by that of the file."""
    left = max(LONGEST, RATIO * path.stat().st_size)
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as packed:
        text = io.TextIOWrapper(packed, encoding="utf-8")
        while True:
            try:
                line = text.readline(LONGEST + 1)
                if not line:
                    return
                found = json.loads(line) if len(line) <= LONGEST else None
            except (ValueError, RecursionError, zstandard.ZstdError) as error:
                raise _damaged(path, str(error)) from None
            left -= len(line)
            if not isinstance(found, list) or left < 0:
                raise _damaged(path, "it has a line that is not a list" if left >= 0 else "it is too large")
            yield found


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(f"{path} is damaged ({why}); use another backup")


def _binary(table: Table, names: list[str]) -> list[int]:
    return [at for at, name in enumerate(names) if isinstance(table.columns[name].type, LargeBinary)]
