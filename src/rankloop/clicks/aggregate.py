"""Clicks and impressions by (query, document, position), which is all that position-based methods need."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop._arrays import Array, Ints, Ints32
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.columns import columns as checked
from rankloop.clicks.columns.columns import Coded, one_table
from rankloop.clicks.columns.grouping import Pairs
from rankloop.clicks.columns.rows import dataset_rows
from rankloop.clicks.columns.side_by_side import KINDS, Cells, side_by_side
from rankloop.data import RankingDataset

if TYPE_CHECKING:
    import polars

__all__ = ["Aggregate", "aggregate", "cells_frame", "counted", "light", "merged", "of_cells"]

_KEYS = ["query", "document", "position"]
_BATCH = 2_000_000  # impressions of a file that are counted at a time


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate:
    """One row per (query, document, position) that was shown, with its impressions and clicks.

    Adding two is exact: the sum of the aggregates of two logs is the aggregate of both.

    >>> log = ClickLog([1, 2], ["q", "q"], ["d", "d"], [1, 1], [0, 1])
    >>> both = aggregate(log) + aggregate(log)
    >>> both.impressions, both.clicks
    (array([4]), array([2]))
    """

    row_query: Coded
    row_document: Coded
    position: Ints32
    impressions: Ints
    clicks: Ints

    def __len__(self) -> int:
        return len(self.position)

    def __repr__(self) -> str:
        return (
            f"Aggregate({len(self):,} cells, {int(self.impressions.sum()):,} impressions, "
            f"{int(self.clicks.sum()):,} clicks)"
        )

    def __add__(self, other: "Aggregate") -> "Aggregate":
        return merged([self, other])

    @property
    def query(self) -> Array:
        return self.row_query.values

    @property
    def document(self) -> Array:
        return self.row_document.values

    @cached_property
    def names(self) -> Pairs:
        """The distinct (query, document) pairs, and which one each cell belongs to."""
        query, document = self.row_query.code, self.row_document.code
        starts = np.ones(len(self), bool)
        starts[1:] = (query[1:] != query[:-1]) | (document[1:] != document[:-1])
        at = np.flatnonzero(starts)
        code = (np.cumsum(starts) - 1).astype(np.int32)
        return Pairs(self.row_query.table, query[at], self.row_document.table, document[at], code)

    def rows(self, data: RankingDataset, *, missing: str = "raise") -> Ints:
        """For each cell the row of the data set it counts."""
        return dataset_rows(data, self.names, missing)[self.names.code]

    def to_frame(self) -> "polars.DataFrame":
        import polars

        names = ("query", "document", "position", "impressions", "clicks")
        return polars.DataFrame({name: getattr(self, name) for name in names})


def aggregate(source: ClickLog | str | Path) -> Aggregate:
    """Count a log, or Parquet, CSV or JSONL files ("logs/*.parquet") that need not fit in memory.

    >>> log = ClickLog([1, 1, 2, 2], ["q"] * 4, ["a", "b", "a", "b"], [1, 2, 1, 2], [1, 0, 0, 0])
    >>> aggregate(log).to_frame().rows()
    [('q', 'a', 1, 2, 1), ('q', 'b', 2, 2, 0)]
    """
    if isinstance(source, ClickLog):
        return _of_log(source)
    return _of_file(Path(source))


def merged(parts: Sequence[Aggregate]) -> Aggregate:
    """The exact sum of aggregates; without sorting where no two of them share a query."""
    queries, query_places = one_table([part.row_query.table for part in parts])
    documents, document_places = one_table([part.row_document.table for part in parts])
    cells = [_cells(part) for part in parts]
    found = side_by_side(cells, query_places, document_places, len(queries))
    if found is not None:
        return _named(queries, documents, found)
    columns = zip(*cells, strict=True)
    query = [at[code] for at, code in zip(query_places, next(columns), strict=True)]
    document = [at[code] for at, code in zip(document_places, next(columns), strict=True)]
    joined = [np.concatenate(column) for column in (query, document, *columns)]
    wide = [np.result_type(column, kind) for column, kind in zip(joined, KINDS, strict=True)]
    return _summed(queries, documents, Cells(*map(np.ndarray.astype, joined, wide)))


def light(counts: Aggregate) -> Aggregate:
    """The same in the shortest integers that hold it, to send to another process: only `merged` takes it.

    >>> log = ClickLog([1, 2], ["q", "q"], ["d", "d"], [1, 1], [0, 1])
    >>> light(aggregate(log)).impressions.dtype, merged([light(aggregate(log))]).impressions.dtype
    (dtype('int8'), dtype('int64'))
    """
    cells = (column.astype(np.min_scalar_type(-1 - int(column.max(initial=0)))) for column in _cells(counts))
    return _named(counts.row_query.table, counts.row_document.table, Cells(*cells))


def _cells(part: Aggregate) -> Cells:
    return Cells(part.row_query.code, part.row_document.code, part.position, part.impressions, part.clicks)


def _named(queries: Array, documents: Array, cells: Cells) -> Aggregate:
    query, document, *rest = cells
    return Aggregate(Coded(queries, query), Coded(documents, document), *rest)


def _summed(queries: Array, documents: Array, cells: Cells) -> Aggregate:
    """The cells in order, with cells of the same key added up."""
    if len(cells.query) == 0:
        return _named(queries, documents, cells)
    key = _key(cells, len(documents))
    order = np.lexsort(cells[2::-1]) if key is None else np.argsort(key)
    keys = [column[order] for column in (cells[:3] if key is None else [key])]
    starts = np.ones(len(order), bool)
    starts[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    at = np.flatnonzero(starts)
    sums = (np.add.reduceat(column[order], at) for column in (cells.impressions, cells.clicks))
    return _named(queries, documents, Cells(*(column[order[at]] for column in cells[:3]), *sums))


def _key(cells: Cells, documents: int) -> Ints | None:
    """Query, document and position as one integer, which sorts faster; None if it does not fit in 64 bits."""
    low, queries = int(cells.position.min()), int(cells.query.max()) + 1
    depth = int(cells.position.max()) - low + 1
    if queries * documents * depth >= 1 << 63:
        return None
    pair = cells.query * np.int64(documents) + cells.document
    key: Ints = pair * np.int64(depth) + (cells.position - low)
    return key


def _of_log(log: ClickLog) -> Aggregate:
    pairs, depth = log.pairs, max(log.n_positions, 1)
    key = pairs.code.astype(np.int64) * depth + (log.position - 1)
    if len(pairs) * depth <= max(4 * len(log), 1 << 20):
        shown = np.bincount(key, minlength=len(pairs) * depth)
        clicks = np.bincount(key[log.click == 1], minlength=len(pairs) * depth)
        cell = np.flatnonzero(shown)
        shown, clicks = shown[cell], clicks[cell]
    else:
        cell, place = np.unique(key, return_inverse=True)
        shown = np.bincount(place, minlength=len(cell))
        clicks = np.bincount(place[log.click == 1], minlength=len(cell))
    pair, rank = np.divmod(cell, depth)
    return Aggregate(
        Coded(log.queries, pairs.query[pair]),
        Coded(log.documents, pairs.document[pair]),
        (rank + 1).astype(np.int32),
        shown,
        clicks,
    )


def _of_file(path: Path) -> Aggregate:
    from rankloop.clicks.columns.frames import require
    from rankloop.clicks.read_clicks import explained, scan

    parts: list[Aggregate] = []
    with explained(path):
        rows = scan(path)
        require(rows.collect_schema().names(), [*_KEYS, "click"])
        for batch in rows.select(*_KEYS, "click").collect_batches(chunk_size=_BATCH, maintain_order=False):
            parts.append(counted(batch))
            if sum(map(len, parts)) > _BATCH + len(parts[0]):
                parts = [merged(parts)]
    return merged(parts) if parts else _of_log(ClickLog([], [], [], [], []))


def counted(frame: "polars.DataFrame") -> Aggregate:
    """The cells of a frame with one impression a row."""
    return of_cells(cells_frame(frame))


def cells_frame(frame: "polars.DataFrame") -> "polars.DataFrame":
    """The same as a frame, unordered, with the ids as they are."""
    import polars as pl

    click = pl.col("click").cast(pl.Float64)
    counts = frame.group_by(_KEYS).agg(
        impressions=pl.len().cast(pl.Int64),
        clicks=(click == 1).sum().cast(pl.Int64),
        wrong=(~click.is_in([0.0, 1.0])).fill_null(True).sum(),
    )
    wrong = counts.filter(pl.col("wrong") > 0)
    if len(wrong):
        first = wrong.row(0, named=True)
        raise ValueError(
            f"click is 0 or 1, but {first['wrong']} impressions of document {first['document']} "
            f"of query {first['query']} have something else"
        )
    return counts.drop("wrong")


def of_cells(counts: "polars.DataFrame") -> Aggregate:
    """The aggregate of what `cells_frame` gave."""
    n = len(counts)
    query, document = (checked.code(checked.ids(counts[name].to_numpy(), n, name)) for name in _KEYS[:2])
    position = checked.whole(counts["position"].to_numpy(), n, "position")
    shown, clicked = counts["impressions"].to_numpy(), counts["clicks"].to_numpy()
    return _summed(query.table, document.table, Cells(query.code, document.code, position, shown, clicked))
