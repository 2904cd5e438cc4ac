"""What a column of a click log must be, and the sentence for one that is not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Coded", "clicks", "code", "ids", "numbers", "one_per_page", "probabilities", "whole"]


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Ids as small integers into a table: 4 bytes an entry whatever the ids are."""

    table: NDArray[Any]
    code: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.code)

    @property
    def values(self) -> NDArray[Any]:
        return self.table[self.code]

    def take(self, index: NDArray[Any] | slice) -> "Coded":
        return Coded(self.table, self.code[index])

    @staticmethod
    def joined(parts: "list[Coded]") -> "Coded":
        """One column after another, with one table for all."""
        if all(part.table is parts[0].table for part in parts):
            return Coded(parts[0].table, np.concatenate([part.code for part in parts]))
        kinds = {part.table.dtype.kind for part in parts if len(part.table)}
        tables = [part.table.astype(np.str_) if len(kinds) > 1 else part.table for part in parts]
        table, place = np.unique(np.concatenate(tables), return_inverse=True)
        starts = np.cumsum([0, *(len(part.table) for part in parts)])
        codes = [place[a:][part.code] for a, part in zip(starts[:-1], parts, strict=True)]
        return Coded(table, np.concatenate(codes).astype(np.int32))


def code(values: NDArray[Any]) -> Coded:
    """The distinct values, sorted, and for each entry its place among them."""
    if values.dtype == np.int64 and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 2 * len(values) + 1024:  # dense ids: counting beats sorting
            seen = np.zeros(high - low + 1, bool)
            seen[values - low] = True
            place = np.cumsum(seen, dtype=np.int32) - np.int32(1)
            return Coded(np.flatnonzero(seen) + low, place[values - low])
    table, place = np.unique(values, return_inverse=True)
    return Coded(table, place.astype(np.int32))


def ids(values: ArrayLike, rows: int, name: str) -> NDArray[Any]:
    """Ids as int64 or as text; whatever is neither is written as text."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(f"{name} needs one id per impression ({rows}), got shape {array.shape}")
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array)):
            raise ValueError(f"{name} is missing in row {int(np.argmin(np.isfinite(array)))}")
        if np.all(array == np.round(array)):
            return array.astype(np.int64)
    if array.dtype.kind == "O":
        listed = array.tolist()
        absent = np.array([value is None or value != value for value in listed], bool)
        if absent.any():
            raise ValueError(f"{name} is missing in row {int(absent.argmax())}")
        if all(isinstance(value, int) for value in listed):
            return array.astype(np.int64)
    return array.astype(np.str_)


def whole(values: ArrayLike, rows: int, name: str) -> NDArray[np.int32]:
    """Ranks: whole numbers from 1."""
    array = numbers(values, rows, name, missing=False)
    wrong = (array < 1) | (array != np.round(array)) | (array > 2**31 - 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"{name} is a whole number from 1, got {array[row]:g} in row {row}")
    return array.astype(np.int32)


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


def numbers(values: ArrayLike, rows: int, name: str, *, missing: bool) -> NDArray[Any]:
    """Numbers (times become seconds); nan says "not known" where `missing` allows it."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(f"{name} needs one value per impression ({rows}), got shape {array.shape}")
    if rows == 0:  # a file with a head and nothing below it: of no kind
        return np.zeros(0)
    if array.dtype.kind == "M":
        array = np.where(np.isnat(array), np.nan, array.astype("M8[us]").astype(np.int64) / 1e6)
    if array.dtype.kind == "O":
        array = np.array([np.nan if value is None else value for value in array.tolist()])
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, {_first_word(array)}")
    if array.dtype.kind == "f":
        wrong = np.isinf(array) if missing else ~np.isfinite(array)
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"{name} must be finite, got {array[row]} in row {row}; drop or fill the row")
    return array


def _first_word(array: NDArray[Any]) -> str:
    """Where a column of text stops being numbers."""
    for row, value in enumerate(array.tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return (
                f"got {value!r} in row {row}; write 1 and 0 for yes and no, and leave out what is not known"
            )
    return f"got them as {array.dtype}; write them without quotes"


def one_per_page(column: Coded, offsets: NDArray[np.int64], sessions: NDArray[Any], name: str) -> Coded:
    """The value of each page, of a column that is the same in all rows of a page."""
    first = column.code[offsets[:-1]]
    differs = column.code != np.repeat(first, np.diff(offsets))
    if differs.any():
        page = int(np.searchsorted(offsets, int(differs.argmax()), "right")) - 1
        raise ValueError(
            f"{name} differs within the page of session {sessions[page]}; one page has one {name}"
        )
    return Coded(column.table, first)


def probabilities(propensity: NDArray[np.float64] | None) -> None:
    if propensity is not None and np.any((propensity <= 0) | (propensity > 1)):
        wrong = (propensity <= 0) | (propensity > 1)
        raise ValueError(f"propensity lies in (0, 1], got {propensity[wrong][0]:g}")
