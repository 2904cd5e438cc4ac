"""Rows grouped into pages, and the distinct (query, document) pairs."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Array, Ints, Ints32
from rankloop.clicks.columns.columns import Coded

__all__ = ["Pairs", "grouped", "no_rank_twice", "pairs_of", "selected"]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Distinct (query, document) pairs by their ids, and for each entry of a log which one it is."""

    queries: Array  # a table of ids
    query: Ints32  # per pair, an index into `queries`
    documents: Array
    document: Ints32
    code: Ints32  # per entry

    def __len__(self) -> int:
        return len(self.query)


def grouped(session: Ints32, query: Ints32, position: Ints32) -> tuple[Ints | slice, Ints]:
    """The order of rows by page (pages by their first row) and position, and the offsets of the pages.

    The order is a slice of all rows where they are in order already.
    """
    rows = len(session)
    key = session.astype(np.int64)
    key *= int(query.max()) + 1 if rows else 1
    key += query
    starts = np.ones(rows, bool)
    starts[1:] = key[1:] != key[:-1]
    heads = np.flatnonzero(starts)
    distinct, first, run = np.unique(key[heads], return_index=True, return_inverse=True)
    del key
    by_first = np.empty(len(distinct), np.int32)
    by_first[np.argsort(first)] = np.arange(len(distinct), dtype=np.int32)
    page = np.repeat(by_first[run], np.diff(np.append(heads, rows)))
    inside = page[1:] == page[:-1]
    if len(distinct) == len(heads) and np.all(position[1:][inside] >= position[:-1][inside]):
        return slice(None), np.append(heads, rows).astype(np.int64)
    sizes = np.bincount(page, minlength=len(distinct))
    return np.lexsort((position, page)), np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def selected(offsets: Ints, pages: Ints) -> tuple[Ints, Ints]:
    """The offsets of some pages, one after another, and the rows they consist of."""
    lengths = np.diff(offsets)[pages]
    new = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return new, np.repeat(offsets[:-1][pages] - new[:-1], lengths) + np.arange(new[-1])


def no_rank_twice(position: Ints32, offsets: Ints, sessions: Array) -> None:
    same = position[1:] == position[:-1]
    same[offsets[1:-1] - 1] = False
    if same.any():
        row = int(same.argmax())
        page = int(np.searchsorted(offsets, row, "right")) - 1
        raise ValueError(
            f"position {position[row]} is taken twice on the page of session {sessions[page]}; "
            "give every page its own session id, or keep one impression per position"
        )


def pairs_of(queries: Coded, documents: Coded) -> Pairs:
    """The distinct pairs of two columns, ordered by query, then by document."""
    query, document, n_documents = queries.code, documents.code, len(documents.table)
    owner = np.full(n_documents, -1, np.int32)
    owner[document] = query
    if np.array_equal(owner[document], query):  # every document belongs to one query
        shown = np.flatnonzero(owner >= 0)
        shown = shown[np.argsort(owner[shown], kind="stable")]
        place = np.empty(n_documents, np.int32)
        place[shown] = np.arange(len(shown), dtype=np.int32)
        one, other, code = owner[shown], shown, place[document]
    else:
        distinct, code = np.unique(query.astype(np.int64) * n_documents + document, return_inverse=True)
        one, other = np.divmod(distinct, n_documents)
    parts = (part.astype(np.int32) for part in (one, other, code))
    return Pairs(queries.table, next(parts), documents.table, next(parts), next(parts))
