"""Impressions and clicks of a log that is larger than memory."""

from pathlib import Path

from rankloop.clicks import Aggregate
from rankloop.clicks.aggregate import counted, light, merged
from rankloop.cluster._engine import over
from rankloop.cluster._inputs import each, shards_of
from rankloop.data.shards import Shards

__all__ = ["aggregate"]


def aggregate(log: Shards | str | Path, *, on: str = "local", workers: int | None = None) -> Aggregate:
    """What `rankloop.clicks.aggregate` gives on the whole log: whole numbers, so the sum is exact.

    A query lies in one shard, so no count is ever spread over two: each shard is counted by itself, and
    the cells of all are put one after the other. The cells must fit in memory, the log need not.
    """
    shards = shards_of(log, "clicks")
    work = each(shards)
    parts = over(
        _count,
        work,
        on=on,
        workers=workers,
        title="counting",
        sizes=[shard.n_rows for shard in work],
    )
    return merged(parts)


def _count(shard: Shards) -> Aggregate:
    frame = shard.frame(0)
    for name in ("query", "document", "position", "click"):
        if name not in frame.columns:
            raise ValueError(
                f"a click log has a column {name!r}, and these shards have none; write them again"
            )
    return light(counted(frame))
