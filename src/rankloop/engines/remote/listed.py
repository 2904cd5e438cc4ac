"""Documents of another machine of which only the ids are known."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array
from rankloop.search.index.snapshot import Manifest, Snapshot

__all__ = ["Listed"]


class Listed(Snapshot):
    """Ids in the order of an answer: enough for a run, which nobody describes or shows."""

    def __init__(self, schema: Manifest, ids: Sequence[str]) -> None:
        super().__init__(Path(), schema)
        self.rows = len(ids)
        self._ids = np.array(ids, np.str_) if ids else np.empty(0, "U1")

    def ids(self, rows: ArrayLike) -> Array:
        return np.asarray(self._ids[np.asarray(rows, np.int64)])
