"""One number for each document of each query: the common base of judgments and runs."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Array, Floats, Ints
from rankloop._jit import has_compiler, kernel, part
from rankloop._table import Table
from rankloop.data.columns import check
from rankloop.data.columns.group import group_rows
from rankloop.data.trec.fields import Fields

__all__ = [
    "ByQuery",
    "Columns",
    "columns_of_fields",
    "columns_of_rows",
    "fill",
    "ids_for_text",
    "places_in",
    "rows_of_dict",
]


@dataclass(frozen=True, slots=True)
class Columns:
    """Grouped rows: queries in the order of their first row, documents sorted by value or in their order."""

    qid: NDArray[np.str_]
    offsets: Ints
    docid: NDArray[np.str_]
    value: Floats


T = TypeVar("T", bound="ByQuery")
_SHOWN = 10  # rows in a notebook
_FEW = 400_000  # rows that a dict joins in less time than the compiler takes to load


class ByQuery(Mapping[str, dict[str, float]]):
    """Reads as a mapping: `table["q1"]` gives `{document: number}`."""

    qid: NDArray[np.str_]
    offsets: Ints
    docid: NDArray[np.str_]

    @property
    @abstractmethod
    def _values(self) -> Array:
        """The number of each document."""

    @cached_property
    def _place(self) -> dict[str, int]:
        return {query: i for i, query in enumerate(self.qid.tolist())}

    def __getitem__(self, query: str) -> dict[str, float]:
        if query not in self._place:
            raise KeyError(query)
        i = self._place[query]
        rows = slice(self.offsets[i], self.offsets[i + 1])
        return dict(zip(self.docid[rows].tolist(), self._values[rows].tolist(), strict=True))

    def __contains__(self, query: object) -> bool:
        return query in self._place

    def __iter__(self) -> Iterator[str]:
        return iter(self.qid.tolist())

    def __len__(self) -> int:
        return len(self.qid)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} queries, {len(self.docid):,} documents)"

    def _repr_html_(self) -> str:
        """The first rows, for notebooks."""
        queries = np.repeat(self.qid, np.diff(self.offsets))[:_SHOWN].tolist()
        rows = zip(queries, self.docid[:_SHOWN].tolist(), self._values[:_SHOWN].tolist(), strict=True)
        cells = [(query, document, f"{value:g}") for query, document, value in rows]
        kind = {"Run": "score", "Qrels": "label"}.get(type(self).__name__, "value")
        return Table(("query", "document", kind), cells, title=repr(self), left=2).html()

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Query to document to number, as pytrec_eval, ranx and ir_measures take them."""
        return {query: self[query] for query in self}


def fill(table: T, columns: Columns, **own: Any) -> T:
    """Set the columns of a table that is frozen, and those of its `own`."""
    for name in ("qid", "offsets", "docid"):
        object.__setattr__(table, name, getattr(columns, name))
    for name, value in own.items():
        object.__setattr__(table, name, value)
    return table


def rows_of_dict(table: Mapping[Any, Mapping[Any, float]]) -> tuple[list[str], list[str], list[float]]:
    """The rows of a dict of dicts."""
    queries = [str(query) for query, documents in table.items() for _ in documents]
    documents = [str(document) for documents in table.values() for document in documents]
    return queries, documents, [value for documents in table.values() for value in documents.values()]


def ids_for_text(table: ByQuery) -> Iterator[tuple[str, str]]:
    """Query and document of each row, for files whose fields are separated by blanks."""
    queries = np.repeat(table.qid, np.diff(table.offsets)).tolist()
    documents = table.docid.tolist()
    for what, ids in (("query", table.qid.tolist()), ("document", documents)):
        if "\n".join(ids).split() != ids:
            wrong = next(name for name in ids if name.split() != [name])
            raise ValueError(
                f"{what} {wrong!r} is empty or holds a blank, which separates fields in TREC files; rename it"
            )
    return zip(queries, documents, strict=True)


def columns_of_rows(
    qid: ArrayLike, docid: ArrayLike, values: ArrayLike, what: str, *, ranked: bool
) -> Columns:
    """From one query, document and number per row, in any order."""
    numbers = np.asarray(values)
    queries = check.ids(qid, numbers.size, "qid").astype(np.str_)
    documents = check.ids(docid, numbers.size, "docid").astype(np.str_)
    numbers = check.column(numbers, numbers.size, "y", np.float64)
    if np.isnan(numbers).any():
        row = int(np.isnan(numbers).argmax())
        raise ValueError(f"the {what} must be a number, got nan in row {row} (query {queries[row]})")
    starts = np.flatnonzero(np.append(True, queries[1:] != queries[:-1])[: len(queries)])
    repeats = np.diff(np.append(starts, len(queries)))
    return _grouped(queries[starts], repeats, documents, numbers, "row", np.arange(len(queries)), ranked)


def columns_of_fields(fields: Fields, path: object, *, ranked: bool) -> Columns:
    """From the lines of a file."""
    where = f"{path}, line"
    return _grouped(fields.qid, fields.repeats, fields.docid, fields.value, where, fields.line, ranked)


def _grouped(
    heads: NDArray[np.str_],
    repeats: Ints,
    docid: NDArray[np.str_],
    value: Floats,
    where: str,
    line: Ints,
    ranked: bool,
) -> Columns:
    unique, code = np.unique(heads, return_inverse=True)
    grouping = group_rows(np.repeat(code.reshape(-1), repeats))
    offsets, order = grouping.offsets, grouping.order
    placed = grouping.apply(value)
    if ranked and len(placed):
        rises = placed[1:] > placed[:-1]
        rises[offsets[1:-1] - 1] = False
        if rises.any():
            query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
            by_score = np.lexsort((-placed, query))
            order = by_score if order is None else order[by_score]
    if order is not None:
        docid, value, line = docid[order], value[order], line[order]
    made = Columns(unique[grouping.qid], offsets, docid, value)
    _check_unique(made, where, line)
    return made


def _check_unique(columns: Columns, where: str, line: Ints) -> None:
    none = np.full(len(columns.qid), -1)
    everything = np.arange(len(columns.qid))
    _, first, second = places_in(columns.docid[:0], np.zeros(1, np.int64), none, columns, everything)
    if first >= 0:
        query = columns.qid[np.searchsorted(columns.offsets, first, "right") - 1]
        a, b = sorted((int(line[first]), int(line[second])))
        raise ValueError(
            f"{where} {b}: document {columns.docid[first]} of query {query} was already in "
            f"{where.split()[-1]} {a}; keep one of them"
        )


def places_in(
    docid: NDArray[np.str_], offsets: Ints, lists: Ints, table: Any, table_lists: Ints
) -> tuple[Ints, int, int]:
    """For each document its row in `table` (or -1), where list `lists[i]` meets `table_lists[i]`.

    Also the first two rows of the table with the same document in one list, or -1 and -1.
    """
    place = np.full(len(docid), -1, np.int64)
    if not has_compiler() and len(docid) + len(table.docid) <= _FEW:
        return place, *_meet_few(docid, offsets, lists, table, table_lists, place)
    longest = int(np.diff(table.offsets).max(initial=0))
    slots = np.empty(max(4, 1 << (2 * longest + 1).bit_length()), np.int64)
    codes, table_codes = _codes(docid), _codes(table.docid)
    hashes = np.empty(len(table.docid), np.int64)
    first, second = _meet(
        codes, offsets, lists, table_codes, table.offsets, table_lists, hashes, slots, place
    )
    return place, first, second


def _meet_few(
    docid: NDArray[np.str_], offsets: Ints, lists: Ints, table: Any, table_lists: Ints, place: Ints
) -> tuple[int, int]:
    """What `_meet` does, without machine code."""
    documents, own = table.docid.tolist(), docid.tolist()
    for one, other in zip(lists.tolist(), table_lists.tolist(), strict=True):
        start, end = int(table.offsets[other]), int(table.offsets[other + 1])
        rows = dict(zip(documents[start:end], range(start, end), strict=True))
        if len(rows) < end - start:
            return _first_twice(documents, start, end)
        if one >= 0:
            asked = own[offsets[one] : offsets[one + 1]]
            place[offsets[one] : offsets[one + 1]] = [rows.get(document, -1) for document in asked]
    return -1, -1


def _first_twice(documents: list[str], start: int, end: int) -> tuple[int, int]:
    """The first row of which the document was there before, and that row, in rows with such a one."""
    rows: dict[str, int] = {}
    row = start
    while rows.setdefault(documents[row], row) == row:
        row += 1
    return rows[documents[row]], row


def _codes(text: NDArray[np.str_]) -> NDArray[np.uint32]:
    width = max(1, text.dtype.itemsize // 4)
    plain = np.ascontiguousarray(text, dtype=f"<U{width}")
    return plain.view(np.uint32).reshape(len(text), width)


@part
def _hash(codes: NDArray[np.uint32], row: int) -> np.int64:
    value = np.int64(1469598103934665603)
    for i in range(codes.shape[1]):
        if codes[row, i] == 0:
            break
        value = (value ^ np.int64(codes[row, i])) * np.int64(1099511628211)
    return value ^ (value >> 29)


@part
def _same(a: NDArray[np.uint32], i: int, b: NDArray[np.uint32], j: int) -> bool:
    for c in range(a.shape[1]):
        other = b[j, c] if c < b.shape[1] else 0
        if a[i, c] != other:
            return False
        if other == 0:
            return True
    return b.shape[1] <= a.shape[1] or bool(b[j, a.shape[1]] == 0)


@kernel
def _meet(
    codes: NDArray[np.uint32],
    offsets: Ints,
    lists: Ints,
    table: NDArray[np.uint32],
    table_offsets: Ints,
    table_lists: Ints,
    hashes: Ints,
    slots: Ints,
    place: Ints,
) -> Any:
    """Join lists by document: an open-addressing hash table of one list, looked up by the rows of the other.

    Tables are built and probed list by list in the same `slots`, which stay in cache.
    """
    for i in range(len(table_lists)):
        start, end = table_offsets[table_lists[i]], table_offsets[table_lists[i] + 1]
        size = 4
        while size < 2 * (end - start):
            size *= 2
        mask = size - 1
        for slot in range(size):
            slots[slot] = -1
        for row in range(start, end):
            hashes[row] = _hash(table, row)
            at = hashes[row] & mask
            while slots[at] >= 0:
                if hashes[slots[at]] == hashes[row] and _same(table, slots[at], table, row):
                    return slots[at], row
                at = (at + 1) & mask
            slots[at] = row
        if lists[i] < 0:
            continue
        for row in range(offsets[lists[i]], offsets[lists[i] + 1]):
            value = _hash(codes, row)
            at = value & mask
            while slots[at] >= 0:
                if hashes[slots[at]] == value and _same(codes, row, table, slots[at]):
                    place[row] = slots[at]
                    break
                at = (at + 1) & mask
    return -1, -1
