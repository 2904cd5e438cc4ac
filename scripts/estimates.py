"""Estimates for data larger than any that was measured, worked out from the measured tables of `cluster.py`.

Of a table the last row counts, the largest data. What is arithmetic or set by a format is written here:
16 bytes per histogram bin, 28 bytes per cell of counts, 29 bytes per row that waits for its shard.
"""

from collections.abc import Callable
from typing import Any

__all__ = ["ESTIMATES"]

IMPRESSIONS, DOCUMENTS, CORES, WORKERS, TREES = 1e10, 1e8, 32, 16, 500
CELL, SPILLED = 28, 29  # bytes

Rows = list[dict[str, Any]]


def impressions(rows: Rows) -> list[list[str]]:
    """A billion sessions of ten results, by the CPU seconds per million impressions."""
    last = rows[-1]
    seconds = {step: last[step] * IMPRESSIONS / 1e6 for step in ("write", "curve", "count")}
    cells = last["cells"] / last["rows"]
    held = cells * IMPRESSIONS * CELL / 1e9
    size, waiting = last["bytes"] * IMPRESSIONS / 1e9, SPILLED * IMPRESSIONS / 1e9
    return [
        ["step", "CPU", f"on {CORES} cores", "memory and disk"],
        [
            "write shards, one process",
            _time(seconds["write"]),
            "the same, as it is one process",
            f"{size:.0f} GB of shards; while it runs, {SPILLED} bytes per row or {waiting:.0f} GB of `spill`",
        ],
        [
            "`propensity`",
            _time(seconds["curve"]),
            _time(seconds["curve"] / CORES),
            "sums of each shard that comes early",
        ],
        [
            "`aggregate`",
            _time(seconds["count"]),
            f"{_time(seconds['count'] / CORES)}, and the merge in the calling process",
            f"{CELL} bytes per cell: {held:.0f} GB at {cells:.1f} cells per impression",
        ],
    ]


def documents(rows: Rows) -> list[list[str]]:
    """A hundred million judged documents, by the CPU microseconds per document."""
    last = rows[-1]
    seconds = {step: last[step] * DOCUMENTS / 1e6 for step in ("write", "evaluate", "score", "tree")}
    forest = TREES * seconds["tree"]
    size = f"{last['bytes'] * DOCUMENTS / 1e9:.0f} GB of shards"
    return [
        ["step", "CPU", f"on {WORKERS} cores", "memory and disk"],
        ["write shards, one process", _time(seconds["write"]), "the same, as it is one process", size],
        [
            f"`fit(LambdaMART(trees={TREES}))`",
            _time(forest),
            f"{_time(forest / WORKERS)}, and what the network adds",
            f"the documents of a worker, {DOCUMENTS / WORKERS / 1e6:.2f} million",
        ],
        [
            "`evaluate`, 20 trees",
            _time(seconds["evaluate"]),
            _time(seconds["evaluate"] / WORKERS),
            "one shard",
        ],
        ["`predict`, 20 trees", _time(seconds["score"]), _time(seconds["score"] / WORKERS), "one shard"],
    ]


def _time(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.1f} hours"
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


ESTIMATES: dict[str, tuple[str, Callable[[Rows], list[list[str]]]]] = {
    "impressions": ("rows", impressions),
    "documents": ("documents", documents),
}
