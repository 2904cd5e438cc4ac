"""Rows of documents in a local index, remembered: an engine's candidates are often the same documents."""

from collections.abc import Sequence

import numpy as np

from rankloop._arrays import Ints
from rankloop.search.index.snapshot import Snapshot

__all__ = ["KnownRows"]

MOST = 500_000  # ids that are remembered


class KnownRows:
    """Rows by id, for one snapshot at a time; safe to use from many threads, which at worst look up twice."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._state: tuple[Snapshot | None, dict[str, int]] = (None, {})

    def of(self, snapshot: Snapshot, ids: Sequence[str]) -> Ints:
        """The rows of documents, -1 for those that the snapshot does not have."""
        of, known = self._state
        if of is not snapshot:
            known = {}
            self._state = (snapshot, known)
        rows = [known.get(id) for id in ids]
        if None not in rows:
            return np.array(rows, np.int64)
        fresh = [id for id, row in zip(ids, rows, strict=True) if row is None]
        found = dict(zip(fresh, snapshot.rows_of(fresh).tolist(), strict=True))
        if len(known) + len(found) > self.most:
            self._state = (snapshot, found)
        else:
            known.update(found)
        given = (found[id] if row is None else row for id, row in zip(ids, rows, strict=True))
        return np.fromiter(given, np.int64, len(ids))
