"""Simulated clicks, counted as they are drawn."""

from typing import Unpack

import numpy as np

from rankloop._options import passes_to
from rankloop._progress import progress
from rankloop.clicks.aggregate import Aggregate
from rankloop.clicks.simulation.stage import StageOptions, stage_of
from rankloop.data import RankingDataset

__all__ = ["simulate_aggregate"]


@passes_to(stage_of)
def simulate_aggregate(
    data: RankingDataset, *, sessions: int, chunk: int = 1_000_000, **options: Unpack[StageOptions]
) -> Aggregate:
    """The aggregate of the log of `simulate` with these options, in the memory of one `chunk` of pages.

    >>> data = RankingDataset.from_groups(np.zeros((3, 1)), [0, 1, 2], [3])
    >>> simulate_aggregate(data, sessions=5000, logging_policy=data.y, chunk=1000)
    Aggregate(3 cells, 15,000 impressions, 2,002 clicks)
    """
    if sessions < 1 or chunk < 1:
        raise ValueError(f"sessions and chunk are at least 1, got {sessions} and {chunk}")
    stage = stage_of(data, **options)
    depth = stage.depth
    counts = np.zeros((2, data.n_documents * depth), np.int64)
    with progress("simulating", sessions) as advance:
        for first in range(0, sessions, chunk):
            last = min(first + chunk, sessions)
            played = stage.play(first, last)
            key = played.row.astype(np.int64) * depth + (played.rank - 1)
            counts[0] += np.bincount(key, minlength=counts.shape[1])
            counts[1] += np.bincount(key[played.click == 1], minlength=counts.shape[1])
            advance(last - first)
    cell = np.flatnonzero(counts[0])
    row, rank = np.divmod(cell, depth)
    queries, documents = stage.coded_rows()
    order = np.lexsort((rank, documents.code[row], queries.code[row]))
    cell, row, rank = cell[order], row[order], rank[order]
    return Aggregate(
        queries.take(row), documents.take(row), (rank + 1).astype(np.int32), counts[0][cell], counts[1][cell]
    )
