"""Documents from files, tables, databases and folders."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import IO, Any, NamedTuple

from rankloop._extras import require
from rankloop._json import parse_json
from rankloop.data.files.frames import read_by_polars
from rankloop.data.files.text import LONGEST_LINE
from rankloop.search.field import Field

__all__ = ["Unreadable", "read_documents"]


class Unreadable(NamedTuple):
    """In place of a document that could not be read: why not."""

    reason: str


Document = dict[str, Any]
_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8
_TOO_LONG = f"a line of more than {LONGEST_LINE:,} characters"
_TEXT = {".md", ".markdown", ".txt", ".rst", ".html", ".htm"}


def read_documents(
    source: str | Path, *, sql: str | None = None, fields: Mapping[str, Field] | None = None
) -> Iterator[Document | Unreadable]:
    """The documents of a source, one after the other, as mappings.

    JSON lines, CSV and TSV (also `.gz`), Parquet, a folder of Markdown, HTML and text files, or the rows of
    the query `sql` on a database (a SQLAlchemy URL, or the path of an SQLite file). `fields` turns the
    numbers of CSV into numbers. Files of a folder have `id` (their path in it), `title` and `body`. A line
    that cannot be read is given as `Unreadable`, which an index refuses or skips like any invalid document.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "shop.jsonl"
    >>> _ = path.write_text('{"id": 1, "title": "Red hat"}')
    >>> list(read_documents(path))
    [{'id': 1, 'title': 'Red hat'}]
    """
    if sql is not None:
        return _rows(str(source), sql)
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"no documents at {path}; give a file, a folder, or a database with sql=...")
    if path.is_dir():
        return _folder(path)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    readers: dict[str, Callable[[], Iterator[Document | Unreadable]]] = {
        ".jsonl": lambda: _json_lines(path),
        ".ndjson": lambda: _json_lines(path),
        ".csv": lambda: _csv(path, ",", fields or {}),
        ".tsv": lambda: _csv(path, "\t", fields or {}),
        ".parquet": lambda: _parquet(path),
        **dict.fromkeys(_TEXT, lambda: iter([_file(path, path.parent)])),
    }
    if suffix.lower() not in readers:
        raise ValueError(
            f"{path.name} is none of: {', '.join(sorted(readers))}, a folder; databases are read with sql=..."
        )
    return readers[suffix.lower()]()


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """The file as text; bytes that are not UTF-8 become halves of surrogate pairs, see `_is_text`.

    A byte order mark, which spreadsheets write, is no part of the first column's name.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged or cut short ({error}); compress it again") from None


def _lines(file: IO[str]) -> Iterator[str | None]:
    """The lines of a file; None for one that is too long: a packed file of a megabyte may have a gigabyte."""
    while line := file.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line[-1] in "\r\n":
            yield line
            continue
        yield None
        while line and line[-1] not in "\r\n":
            line = file.readline(LONGEST_LINE)


def _is_text(line: str) -> bool:
    return line.isascii() or _ESCAPED.search(line) is None


def _json_lines(path: Path) -> Iterator[Document | Unreadable]:
    with _opened(path) as file:
        for number, line in enumerate(_lines(file), 1):
            where = f"{path.name}, line {number}"
            if line is None:
                yield Unreadable(f"{where}: {_TOO_LONG}")
                continue
            if not line.strip():
                continue
            if not _is_text(line):
                yield Unreadable(f"{where}: not UTF-8 text")
                continue
            try:
                document = parse_json(line)
            except json.JSONDecodeError as error:
                yield Unreadable(f"{where}: not JSON ({error.msg})")
            except (ValueError, RecursionError):
                yield Unreadable(f"{where}: a number or a nesting without end")
            else:
                yield document


def _csv(path: Path, delimiter: str, fields: Mapping[str, Field]) -> Iterator[Document | Unreadable]:
    numbers = {name for name, field in fields.items() if field.kind == "number"}
    vectors = {name for name, field in fields.items() if field.kind == "vector"}
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # of the process: texts may be long
    with _opened(path) as file:
        rows = csv.DictReader(_short(path, file), delimiter=delimiter)
        if not all(map(_is_text, rows.fieldnames or ())):
            raise ValueError(f"{path.name}: the names of the columns are not UTF-8 text; save it as UTF-8")
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield Unreadable(f"{path.name}, line {rows.line_num}: not CSV ({error})")
                continue
            if not all(map(_is_text, (value for value in row.values() if isinstance(value, str)))):
                yield Unreadable(f"{path.name}, line {rows.line_num}: not UTF-8 text")
                continue
            document: Document = {name: value for name, value in row.items() if name is not None and value}
            for name in numbers & document.keys():
                with suppress(ValueError):  # the index refuses it and names the document and field
                    document[name] = float(document[name])
            for name in vectors & document.keys():
                with suppress(ValueError):
                    document[name] = [float(x) for x in re.split(r"[\s,;]+", document[name].strip("[] "))]
            yield document


def _short(path: Path, file: IO[str]) -> Iterator[str]:
    """The lines of a table, none of which may be too long."""
    for number, line in enumerate(_lines(file), 1):
        if line is None:
            raise ValueError(f"{path.name}, line {number}: {_TOO_LONG}")
        yield line


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
        page = _Page()
        page.feed(text)
        page.close()
        title, body = page.title, page.text
    else:
        heading = re.search(r"^#+\s+(.+?)\s*#*$", text, re.MULTILINE)
        title, body = (heading[1] if heading and path.suffix != ".txt" else ""), text
    return {"id": path.relative_to(folder).as_posix(), "title": title or path.stem, "body": body}


class _Page(HTMLParser):
    """The title and the visible text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._titles: list[str] = []
        self._inside: list[str] = []

    @property
    def title(self) -> str:
        return " ".join("".join(self._titles).split())

    @property
    def text(self) -> str:
        return " ".join("".join(self._parts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "title", "template"):
            self._inside.append(tag)
        elif tag not in ("b", "i", "em", "strong", "a", "span", "code", "mark"):
            self._parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()
        elif tag not in ("b", "i", "em", "strong", "a", "span", "code", "mark"):
            self._parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self._parts.append(data)
        elif self._inside[-1] == "title":
            self._titles.append(data)
