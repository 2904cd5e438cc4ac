"""Merging the cells of aggregates that share no query: whole queries are copied, nothing is sorted."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Array, Ints, Ints32
from rankloop._jit import kernel

__all__ = ["KINDS", "Cells", "side_by_side"]


class Cells(NamedTuple):
    """The columns of an aggregate, with ids as codes."""

    query: Array
    document: Array
    position: Array
    impressions: Array
    clicks: Array


KINDS = (np.int32, np.int32, np.int32, np.int64, np.int64)


def side_by_side(
    parts: Sequence[Cells], query_places: Sequence[Ints32], document_places: Sequence[Ints32], queries: int
) -> Cells | None:
    """The cells of all parts by query, document and position; None where they have to be sorted.

    `query_places` and `document_places` have the code of each id of a part among the ids of all. Each part
    must be sorted within its queries, and no query may be in two parts, or twice in one. Integers may be
    shorter than `KINDS`.
    """
    sizes = np.zeros(queries, np.int64)
    longest = max(len(part.query) for part in parts)
    room = Cells(*(np.empty(longest, kind) for kind in KINDS))  # reused for all parts
    for part, query, document in zip(parts, query_places, document_places, strict=True):
        fits = all(np.can_cast(column.dtype, kind) for column, kind in zip(part, KINDS, strict=True))
        if not fits or not _measure(sizes, query, document, tuple(_typed(part[:3], room))):
            return None
    starts = np.cumsum(sizes) - sizes
    found = Cells(*(np.empty(int(sizes.sum()), kind) for kind in KINDS))
    for part, query, document in zip(parts, query_places, document_places, strict=True):
        _move(starts, query, document, tuple(_typed(part, room)), found)
    return found


def _typed(columns: Sequence[Array], room: Cells) -> list[Array]:
    """Columns in the integer types of the kernels, copied into reused memory."""
    found = [space[: len(column)] for column, space in zip(columns, room, strict=False)]
    for column, space in zip(columns, found, strict=True):
        space[:] = column
    return found


@kernel
def _measure(sizes: Ints, query_place: Any, document_place: Any, cells: Any) -> bool:
    """Count the cells of each query; False unless all queries are new and their cells in order."""
    query, document, position = cells
    begin, n = 0, len(query)
    while begin < n:
        place = query_place[query[begin]]
        if sizes[place] > 0:
            return False
        end = begin + 1
        while end < n and query[end] == query[begin]:
            before, this = document_place[document[end - 1]], document_place[document[end]]
            if this < before or (this == before and position[end] <= position[end - 1]):
                return False
            end += 1
        sizes[place] = end - begin
        begin = end
    return True


@kernel
def _move(starts: Ints, query_place: Any, document_place: Any, cells: Any, merged: Any) -> None:
    """Copy the cells of one part to the places of their queries."""
    query, document, position, impressions, clicks = cells
    to = 0
    for i in range(len(query)):
        if i == 0 or query[i] != query[i - 1]:
            to = starts[query_place[query[i]]]
        merged.query[to] = query_place[query[i]]
        merged.document[to] = document_place[document[i]]
        merged.position[to] = position[i]
        merged.impressions[to], merged.clicks[to] = impressions[i], clicks[i]
        to += 1
