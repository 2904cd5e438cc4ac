"""Checks of the columns of a click log, and ids as integer codes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Array, Floats, Ints, Ints32
from rankloop.data.columns.check import ids

__all__ = [
    "Coded",
    "clicks",
    "code",
    "coded_ids",
    "ids",
    "numbers",
    "one_per_page",
    "one_table",
    "probabilities",
    "row_column",
    "whole",
]


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Ids as indices into a table: 4 bytes per entry for any kind of id."""

    table: Array
    code: Ints32

    def __len__(self) -> int:
        return len(self.code)

    @property
    def values(self) -> Array:
        return self.table[self.code]

    def take(self, index: Array | slice) -> "Coded":
        return Coded(self.table, self.code[index])

    @staticmethod
    def joined(parts: "list[Coded]") -> "Coded":
        """One column after another, with one table for all."""
        table, places = one_table([part.table for part in parts])
        return Coded(table, np.concatenate([at[part.code] for at, part in zip(places, parts, strict=True)]))


def one_table(tables: Sequence[Array]) -> tuple[Array, list[Ints32]]:
    """The sorted ids of all tables, and the index of each table's ids among them; mixed kinds become text."""
    if all(table is tables[0] for table in tables):
        return tables[0], [np.arange(len(tables[0]), dtype=np.int32)] * len(tables)
    filled = [table for table in tables if len(table)] or list(tables)
    if len({table.dtype.kind for table in filled}) > 1:
        tables = [table.astype(np.str_) for table in tables]
        filled = [table for table in tables if len(table)]
    ids = np.sort(np.concatenate(filled), kind="stable")  # tables are usually sorted, which this merges fast
    ids = ids[np.append(True, ids[1:] != ids[:-1])[: len(ids)]]
    return ids, [np.searchsorted(ids, table).astype(np.int32) for table in tables]


def code(values: Array) -> Coded:
    """The distinct values, sorted, and for each entry its place among them."""
    if values.dtype == np.int64 and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 2 * len(values) + 1024:  # dense ids: counting is faster than sorting
            seen = np.zeros(high - low + 1, bool)
            seen[values - low] = True
            place = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            return Coded(np.flatnonzero(seen) + low, place[values - low])
    table, place = np.unique(values, return_inverse=True)
    return Coded(table, place.astype(np.int32))


def coded_ids(values: "ArrayLike | Coded", rows: int, name: str) -> Coded:
    """Ids as codes; those that are coded already stay as they are."""
    if isinstance(values, Coded):
        if len(values) != rows:
            raise ValueError(f"{name} needs one id per impression ({rows}), got {len(values)}")
        return values
    return code(ids(values, rows, name, "impression"))


def whole(values: ArrayLike, rows: int, name: str) -> Ints32:
    """Ranks: whole numbers from 1."""
    array = numbers(values, rows, name, missing=False)
    wrong = (array < 1) | (array != np.round(array)) | (array > 2**31 - 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{name} is a whole number from 1, got {array[row]:g} in row {row}")
    return array.astype(np.int32)


def row_column(values: ArrayLike, rows: int, name: str) -> Array:
    """An optional column of impressions; dwell and timestamp may be unknown (nan)."""
    if name in ("original_position", "row", "column"):
        return whole(values, rows, name)
    return numbers(values, rows, name, missing=name in ("dwell", "timestamp")).astype(np.float64)


def clicks(values: ArrayLike, rows: int) -> NDArray[np.int8]:
    array = numbers(values, rows, "click", missing=False)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"click is 0 or 1, got {array[row]:g} in row {row}; "
            "put counts in an Aggregate, values in conversion, seconds in dwell"
        )
    return array.astype(np.int8)


def numbers(values: ArrayLike, rows: int, name: str, *, missing: bool) -> Array:
    """Numbers (times become seconds); nan means unknown, where `missing` allows it."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(f"{name} needs one value per impression ({rows}), got shape {array.shape}")
    if rows == 0:  # a file with a header only has columns of no type
        return np.zeros(0)
    if array.dtype.kind == "M":
        array = np.where(np.isnat(array), np.nan, array.astype("M8[us]").astype(np.int64) / 1e6)
    if array.dtype.kind == "O":
        array = np.array([np.nan if value is None else value for value in array.tolist()])
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, {_first_text(array)}")
    if array.dtype.kind == "f":
        wrong = np.isinf(array) if missing else ~np.isfinite(array)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"{name} must be finite, got {array[row]} in row {row}; drop or fill the row")
    return array


def _first_text(array: Array) -> str:
    """The first entry of a text column that is not a number."""
    for row, value in enumerate(array.tolist()):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return f"got {value!r} in row {row}; write 1 and 0 for yes and no, and leave unknown values out"
    return f"got them as {array.dtype}; write them without quotes"


def one_per_page(column: Coded, offsets: Ints, sessions: Array, name: str) -> Coded:
    """The value of each page, of a column that is the same in all rows of a page."""
    first = column.code[offsets[:-1]]
    differs = column.code != np.repeat(first, np.diff(offsets))
    if differs.any():
        page = int(np.searchsorted(offsets, int(differs.argmax()), "right")) - 1
        raise ValueError(
            f"{name} differs within the page of session {sessions[page]}; one page has one {name}"
        )
    return Coded(column.table, first)


def probabilities(propensity: Floats | None) -> None:
    if propensity is not None and np.any((propensity <= 0) | (propensity > 1)):
        wrong = (propensity <= 0) | (propensity > 1)
        raise ValueError(f"propensity lies in (0, 1], got {propensity[wrong][0]:g}")
