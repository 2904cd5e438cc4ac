"""Compile the default metrics in two processes: one of them reads files first."""

import math
import os
from contextlib import AbstractContextManager, nullcontext

from rankloop._beside import compiling_beside

__all__ = ["compiling_metrics"]

# Bytes of files that are read, and evaluated, without machine code: some 150,000 documents.
_SMALL_DATA, _SMALL_RANKING = 8 << 20, 8 << 20


def compiling_metrics(judgments: str, *rankings: str) -> AbstractContextManager[bool | None]:
    """Read the files in this block."""
    from rankloop.lists.top_lists import rank_tops

    if _size(judgments) <= _SMALL_DATA and sum(map(_size, rankings)) <= _SMALL_RANKING:
        return nullcontext()
    return compiling_beside(__name__, rank_tops, lambda: _compile("mrr", "err@10"))


def _size(path: str) -> float:
    return os.path.getsize(path) if os.path.isfile(path) else math.inf


def _compile(*metrics: str) -> None:
    """Evaluate two documents."""
    import numpy as np

    from rankloop.metrics import values

    scores, labels, offsets = np.array([0.0, 1.0]), np.array([0, 1], np.float32), np.array([0, 2])
    values(metrics, scores, labels, offsets)


if __name__ == "__main__":
    _compile("ndcg@10", "map")
