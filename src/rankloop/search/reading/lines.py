"""The lines of a file of documents, in any encoding and in bounded memory."""

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from rankloop.data.files.text import LONGEST_LINE

__all__ = ["TOO_LONG", "Unreadable", "is_text", "lines", "not_text", "opened"]


class Unreadable(NamedTuple):
    """In place of a document that could not be read: why not."""

    reason: str


TOO_LONG = f"a line of more than {LONGEST_LINE:,} characters"
_ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that the encoding does not have


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[IO[str]]:
    """The file as text; bytes that the encoding does not have become half letters, see `is_text`.

    A byte order mark, which spreadsheets write, is no part of the first column's name; that of UTF-16 says
    what the encoding is.
    """
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(f"unknown encoding {encoding!r}; utf-8, cp1252 and utf-16 are usual") from None
    how = gzip.open if path.suffix == ".gz" else open
    try:
        with how(path, "rb") as raw:
            start = raw.read(2)
        if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            encoding = "utf-16"
        elif codecs.lookup(encoding).name == "utf-8":
            encoding = "utf-8-sig"
        with how(path, "rt", encoding=encoding, errors="surrogateescape", newline="") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged or cut short ({error}); compress it again") from None


def lines(file: IO[str]) -> Iterator[str | None]:
    """The lines of a file; None for one that is too long: a packed file of a megabyte may have a gigabyte."""
    while line := file.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line[-1] in "\r\n":
            yield line
            continue
        yield None
        while line and line[-1] not in "\r\n":
            line = file.readline(LONGEST_LINE)


def is_text(line: str) -> bool:
    """Whether all bytes of a line were letters of the encoding."""
    return line.isascii() or _ESCAPED.search(line) is None


def not_text(encoding: str) -> str:
    """What is wrong with other lines, and what to do."""
    if codecs.lookup(encoding).name != "utf-8":
        return f"not {encoding} text"
    return "not UTF-8 text; give its encoding, which is often cp1252 for files of a spreadsheet"
