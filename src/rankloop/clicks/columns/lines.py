"""Lines of a click log, read one by one, so that a bad one can be left out."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rankloop._json import parse_json
from rankloop.clicks.click_log import PLACES, REQUIRED
from rankloop.data.files.records import Faults

__all__ = ["frame_of_lines"]

_NUMBERS = ("position", "click")
_OPTIONAL = ("score", "propensity", "dwell", "conversion")
_WHOLE = ("original_position", *PLACES)


def frame_of_lines(path: Path, kind: str, faults: Faults) -> Any:
    """A polars frame of the lines ("csv" or "jsonl") that are records of a log; `faults` has the others.

    Slower than a reader of whole files.
    """
    import polars as pl

    good = io.BytesIO()
    text = io.TextIOWrapper(good, encoding="utf-8", newline="", write_through=True)
    lines = _csv_lines(path, faults, text) if kind == "csv" else _json_lines(path, faults)
    count = 0
    for line in lines:
        text.write(line)
        count += 1
    if not count:
        raise ValueError(f"{path} has no line that is a record of a click log")
    good.seek(0)
    if kind == "csv":
        return pl.read_csv(good, infer_schema_length=None)
    return pl.read_ndjson(good, infer_schema_length=None)


def _json_lines(path: Path, faults: Faults) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = parse_json(line)
            except ValueError:
                faults.line(number, "is not JSON")
                continue
            if not isinstance(record, dict):
                faults.line(number, "is not an object")
            elif (wrong := _wrong(record)) is not None:
                faults(number, *wrong, "correct the line")
            else:
                yield json.dumps(record) + "\n"


def _csv_lines(path: Path, faults: Faults, text: Any) -> Iterator[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        rows = csv.reader(file)
        head = next(rows, [])
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(head)
        while True:
            number = rows.line_num + 1
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                faults.line(number, f"is not CSV ({error})")
                continue
            if not row:
                continue
            if len(row) != len(head):
                faults.line(number, f"has {len(row)} values where the head has {len(head)}")
            elif (wrong := _wrong(dict(zip(head, row, strict=True)))) is not None:
                faults(number, *wrong, "correct the line")
            else:
                writer.writerow(row)
                yield ""


def _wrong(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """The field of a record that is wrong, and why."""
    listed = [name for name in REQUIRED if isinstance(record.get(name), list)]
    if len({len(record[name]) for name in listed}) > 1:
        return listed[0], "the lists of one page are not equally long"
    for name in REQUIRED:
        made = listed and name in ("position", "session") and name not in record  # from the lists
        values = record[name] if name in listed else [record.get(name)]
        for value in values if not made else ():
            if value is None or value == "":
                return name, "it is missing"
            if name in _NUMBERS and not _is_number(
                value, whole=name == "position", least=float(name == "position")
            ):
                wanted = "a whole number from 1" if name == "position" else "a number from 0"
                return name, f"wanted {wanted}, got {str(value)[:40]!r}"
    return _wrong_option(record)


def _wrong_option(record: Mapping[str, Any]) -> tuple[str, str] | None:
    """The same for columns that a log may have; only a whole number may not be unknown."""
    for name in (*_OPTIONAL, *_WHOLE):
        given = record.get(name, 1)
        for value in given if isinstance(given, list) else [given]:
            unknown = value is None or value == ""
            if unknown and name in _WHOLE:
                return name, "it is missing"
            if not unknown and not _is_number(value, whole=name in _WHOLE):
                wanted = "a whole number" if name in _WHOLE else "a number"
                return name, f"wanted {wanted}, got {str(value)[:40]!r}"
    return None


def _is_number(value: Any, *, whole: bool, least: float | None = None) -> bool:
    """Whether a value is a number, or a truth value where it need not be `whole`; finite with a `least`."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value).lower() in ("true", "false") and not whole
    if whole and not number.is_integer():
        return False
    return least is None or (math.isfinite(number) and number >= least)
