"""Documents from CSV and TSV, also as spreadsheets of other countries write them."""

import csv
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from rankloop.data.files.text import LONGEST_LINE
from rankloop.search.field import Field
from rankloop.search.reading.lines import TOO_LONG, Unreadable, is_text, lines, not_text, opened

__all__ = ["table_documents", "written_number"]

_CURRENCY = "€$£¥"
_GROUPED = {  # thousands apart, by the decimal mark
    ".": re.compile(r"[-+]?[1-9]\d{0,2}([, '\u00a0\u202f])\d{3}(\1\d{3})*(\.\d+)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}([. '\u00a0\u202f])\d{3}(\1\d{3})*(,\d+)?"),
}
_COMMA = re.compile(r"[-+]?\d+,\d+")


def table_documents(
    path: Path, fields: Mapping[str, Field], encoding: str
) -> Iterator[dict[str, Any] | Unreadable]:
    """The rows of a table. Columns are apart by a tab in a `.tsv`, else by what parts the head most often.

    Spreadsheets write semicolons where the comma is the decimal mark, so numbers are read accordingly.
    """
    numbers = {name for name, field in fields.items() if field.kind == "number"}
    vectors = {name for name, field in fields.items() if field.kind == "vector"}
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # of the process: texts may be long
    with opened(path, encoding) as file:
        delimiter = "\t" if ".tsv" in path.suffixes else _delimiter(path, encoding)
        decimal = "," if delimiter == ";" else "."
        rows = csv.DictReader(_short(path, file), delimiter=delimiter)
        if not all(map(is_text, rows.fieldnames or ())):
            raise ValueError(f"{path.name}, line 1: {not_text(encoding)}")
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield Unreadable(f"{path.name}, line {rows.line_num}: not CSV ({error})")
                continue
            if not all(map(is_text, (value for value in row.values() if isinstance(value, str)))):
                yield Unreadable(f"{path.name}, line {rows.line_num}: {not_text(encoding)}")
                continue
            document: dict[str, Any] = {
                name: value for name, value in row.items() if name is not None and value
            }
            for name in numbers & document.keys():
                number = written_number(document[name], decimal)
                if number is not None:  # else the index refuses it and names the document and field
                    document[name] = number
            for name in vectors & document.keys():
                with suppress(ValueError):
                    document[name] = [float(x) for x in re.split(r"[\s,;]+", document[name].strip("[] "))]
            yield document


def written_number(text: str, decimal: str = ".") -> float | None:
    """A number as people write it: thousands apart, a decimal comma, a currency; None if it is none.

    `decimal` decides what may be read in two ways: "1,299" is a thousand and some, or 1.299.

    >>> [written_number(one) for one in ("1,299.00", "1.299,00 €", "5,99", "$12.50", "1,299", "41 to 42")]
    [1299.0, 1299.0, 5.99, 12.5, 1299.0, None]
    >>> written_number("1,299", decimal=","), written_number("1.299", decimal=",")
    (1.299, 1299.0)
    """
    amount = text.strip().strip(_CURRENCY).strip()
    other = "." if decimal == "," else ","
    for mark in (decimal, other):
        if grouped := _GROUPED[mark].fullmatch(amount):
            whole = amount.replace(grouped[1], "")
            return float(whole.replace(mark, "."))
        if mark == "," and _COMMA.fullmatch(amount):
            return float(amount.replace(",", "."))
        if mark == ".":
            with suppress(ValueError):
                return float(amount)
    return None


def _delimiter(path: Path, encoding: str) -> str:
    with opened(path, encoding) as file:
        head = next(lines(file), None) or ""
    return max(",;\t|", key=re.sub(r'"[^"]*"', "", head).count)


def _short(path: Path, file: IO[str]) -> Iterator[str]:
    """The lines of a table, none of which may be too long."""
    for number, line in enumerate(lines(file), 1):
        if line is None:
            raise ValueError(f"{path.name}, line {number}: {TOO_LONG}")
        yield line
