"""Rows of documents in a local index by id, from tables in memory: an engine sends a thousand ids a query."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bools, Ints, Ints32
from rankloop.search.index.segment import Segment, id_hashes
from rankloop.search.index.snapshot import Snapshot

__all__ = ["KnownRows"]

MOST = 5_000_000  # ids of which a table is made, 13 bytes each


class Table(NamedTuple):
    """The ids of a segment as hashes in order, their documents, and which hashes are there once."""

    hashes: Ints
    documents: Ints32
    single: Bools


class KnownRows:
    """Rows by id; safe to use from many threads, which at worst make a table twice.

    A segment never changes but for deletions, so its table is made once, and a commit costs only the table
    of what is new. Hashes are Python's own, of 64 bits and with a key of the process: that an id which is
    not there has the hash of another one happens once in 10^12 ids of a million documents. Segments above
    `most` ids in all are looked up in their files.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._tables: dict[tuple[str, str], Table] = {}
        self._of: Snapshot | None = None

    def of(self, snapshot: Snapshot, ids: Sequence[str]) -> Ints:
        """The rows of live documents, -1 for those that the snapshot does not have."""
        if self._of is not snapshot:
            self._take(snapshot)
        tables, hashes = self._tables, _hashes(ids)
        rows = np.full(len(ids), -1, np.int64)
        for segment in snapshot.segments:
            table = tables.get((segment.name, segment.digest))
            missing = np.flatnonzero(rows < 0)
            if table is None:
                wanted = [ids[at] for at in missing.tolist()]
                found = segment.find_all(wanted, id_hashes(wanted))
            else:
                found = _find(table, segment, ids, hashes, missing)
            rows[missing] = np.where(found >= 0, found + segment.base, -1)
        return rows

    def _take(self, snapshot: Snapshot) -> None:
        """Tables for the segments of a snapshot; those of segments that are gone are forgotten."""
        tables, left = {}, self.most
        for segment in snapshot.segments:
            if segment.documents <= left:
                left -= segment.documents
                key = segment.name, segment.digest
                tables[key] = self._tables.get(key) or _table(segment)
        self._tables, self._of = tables, snapshot


def _find(table: Table, segment: Segment, ids: Sequence[str], hashes: Ints, wanted: Ints) -> Ints:
    """The live documents of a segment with the wanted ids, -1 for the others."""
    if not len(table.hashes):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(table.hashes, hashes[wanted]), len(table.hashes) - 1)
    document = table.documents[at].astype(np.int64)
    found = np.where(table.hashes[at] == hashes[wanted], document, -1)
    unsure = (found >= 0) & ((segment.live[document] == 0) | ~table.single[at])
    for one in np.flatnonzero(unsure).tolist():  # the id may be there once more
        found[one] = segment.find(ids[wanted[one]])
    return found


def _table(segment: Segment) -> Table:
    hashes = _hashes(segment.ids(np.arange(segment.documents)))
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    same = hashes[1:] == hashes[:-1]
    single = np.ones(len(hashes), bool)
    single[1:][same] = single[:-1][same] = False
    return Table(hashes, order.astype(np.int32), single)


def _hashes(ids: Iterable[str]) -> Ints:
    return np.array(list(map(hash, ids)), np.int64)
