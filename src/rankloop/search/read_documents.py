"""Documents from files, tables, databases and folders."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rankloop._extras import require
from rankloop._json import parse_json
from rankloop.data.files.frames import read_by_polars
from rankloop.search.field import Field
from rankloop.search.reading.lines import TOO_LONG, Unreadable, is_text, lines, not_text, opened
from rankloop.search.reading.markup import Page, without_markup
from rankloop.search.reading.tables import table_documents

__all__ = ["Unreadable", "read_documents"]

Document = dict[str, Any]
_TEXT = {".md", ".markdown", ".txt", ".rst", ".html", ".htm"}


def read_documents(
    source: str | Path,
    *,
    sql: str | None = None,
    fields: Mapping[str, Field] | None = None,
    encoding: str = "utf-8",
    html: bool = False,
) -> Iterator[Document | Unreadable]:
    """The documents of a source, one after the other, as mappings.

    JSON lines, CSV and TSV (also `.gz`), Parquet, a folder of Markdown, HTML and text files, or the rows of
    the query `sql` on a database (a SQLAlchemy URL, or the path of an SQLite file). `fields` turns the
    numbers of CSV into numbers, prices such as "1,299.00" or "5,99 €" too. Files of a folder have `id` (their
    path in it), `title` and `body`. A line that cannot be read is given as `Unreadable`, which an index
    refuses or skips like any invalid document. `encoding` is that of JSON lines and tables (often "cp1252"
    for those of a spreadsheet); with `html`, texts lose their markup.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "shop.jsonl"
    >>> _ = path.write_text('{"id": 1, "title": "Red hat"}')
    >>> list(read_documents(path))
    [{'id': 1, 'title': 'Red hat'}]
    """
    found = _documents(source, sql, fields or {}, encoding)
    return map(_without_markup, found) if html else found


def _without_markup(document: Document | Unreadable) -> Document | Unreadable:
    if not isinstance(document, dict):
        return document
    return {name: without_markup(value) for name, value in document.items()}


def _documents(
    source: str | Path, sql: str | None, fields: Mapping[str, Field], encoding: str
) -> Iterator[Document | Unreadable]:
    if sql is not None:
        return _rows(str(source), sql)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"no documents at {path}; give a file, a folder, or a database with sql=...")
    if path.is_dir():
        return _folder(path)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    readers: dict[str, Callable[[], Iterator[Document | Unreadable]]] = {
        ".jsonl": lambda: _json_lines(path, encoding),
        ".ndjson": lambda: _json_lines(path, encoding),
        ".csv": lambda: table_documents(path, fields, encoding),
        ".tsv": lambda: table_documents(path, fields, encoding),
        ".parquet": lambda: _parquet(path),
        **dict.fromkeys(_TEXT, lambda: iter([_file(path, path.parent)])),
    }
    if suffix.lower() not in readers:
        raise ValueError(
            f"{path.name} is none of: {', '.join(sorted(readers))}, a folder; databases are read with sql=..."
        )
    return readers[suffix.lower()]()


def _json_lines(path: Path, encoding: str) -> Iterator[Document | Unreadable]:
    with opened(path, encoding) as file:
        for number, line in enumerate(lines(file), 1):
            where = f"{path.name}, line {number}"
            if line is None:
                yield Unreadable(f"{where}: {TOO_LONG}")
                continue
            if not line.strip():
                continue
            if not is_text(line):
                yield Unreadable(f"{where}: {not_text(encoding)}")
                continue
            try:
                document = parse_json(line)
            except json.JSONDecodeError as error:
                yield Unreadable(f"{where}: not JSON ({error.msg})")
            except (ValueError, RecursionError):
                yield Unreadable(f"{where}: a number or a nesting without end")
            else:
                yield document


def _parquet(path: Path) -> Iterator[Document]:
    import polars

    damaged = f"{path} is damaged or not a Parquet file, write it again"
    with read_by_polars(damaged):
        frame = polars.scan_parquet(path)
        rows, step = int(frame.select(polars.len()).collect().item()), 10_000
    for start in range(0, rows, step):
        with read_by_polars(damaged):
            read = frame.slice(start, step).collect().rows(named=True)
        for document in read:
            yield {name: value for name, value in document.items() if value is not None}


def _rows(url: str, sql: str) -> Iterator[Document]:
    if "://" not in url:
        if not Path(url).is_file():
            raise FileNotFoundError(f"no SQLite file at {url}; other databases are given by a SQLAlchemy URL")
        yield from _sqlite(url, sql)
        return
    alchemy = require("sqlalchemy", "serve")
    engine = alchemy.create_engine(url)
    try:
        with engine.connect() as connection:
            for row in (
                connection.execution_options(stream_results=True).execute(alchemy.text(sql)).mappings()
            ):
                yield {str(name): value for name, value in row.items() if value is not None}
    finally:
        engine.dispose()


def _sqlite(path: str, sql: str) -> Iterator[Document]:
    import sqlite3

    connection = sqlite3.connect(f"{Path(path).resolve().as_uri()}?mode=ro", uri=True)
    try:
        cursor = connection.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        for row in cursor:
            yield {name: value for name, value in zip(names, row, strict=True) if value is not None}
    finally:
        connection.close()


def _folder(folder: Path) -> Iterator[Document]:
    root = folder.resolve()
    for path in sorted(folder.rglob("*")):
        if not path.resolve().is_relative_to(root):
            continue  # a link that leads out of the folder
        inside = path.relative_to(folder).parts
        if (
            path.suffix.lower() in _TEXT
            and path.is_file()
            and not any(part.startswith(".") for part in inside)
        ):
            yield _file(path, folder)


def _file(path: Path, folder: Path) -> Document:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix.lower() in (".html", ".htm"):
        page = Page()
        page.feed(text)
        page.close()
        title, body = page.title, page.text
    else:
        heading = re.search(r"^#+\s+(.+?)\s*#*$", text, re.MULTILINE)
        title, body = (heading[1] if heading and path.suffix != ".txt" else ""), text
    return {"id": path.relative_to(folder).as_posix(), "title": title or path.stem, "body": body}
