"""Impressions and clicks of a log that is larger than memory."""

from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.clicks import Aggregate
from rankloop.clicks.aggregate import cells_frame, light, merged, of_cells
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each, identity, shards_of
from rankloop.cluster.backends.resume import Written, resume_shards
from rankloop.data.shards.folder import ShardFolder, put_shard
from rankloop.data.shards.manifest import checked_frame
from rankloop.data.shards.shards import Shards
from rankloop.data.shards.store import Store

if TYPE_CHECKING:
    import polars

__all__ = ["aggregate"]


def aggregate(
    log: Shards | str | Path,
    *,
    backend: str = "local",
    workers: int | None = None,
    checkpoint: str | Path | None = None,
) -> Aggregate:
    """What `rankloop.clicks.aggregate` gives on the whole log, exactly: counts are whole numbers.

    All rows of a query are in one shard, so shards are counted separately and their cells joined. The cells
    must fit in memory, the log need not. With `checkpoint` (a folder) the cells of finished shards are kept
    there, and the same call resumes after them.
    """
    shards = shards_of(log, "clicks")
    if checkpoint is not None:
        return merged(_kept(shards, checkpoint, backend, workers))
    work = each(shards)
    sizes = [shard.n_rows for shard in work]
    return merged(over(_count, work, backend=backend, workers=workers, title="counting", sizes=sizes))


def _count(shard: Shards) -> Aggregate:
    return light(of_cells(_cells(shard)))


def _kept(shards: Shards, checkpoint: str | Path, backend: str, workers: int | None) -> list[Aggregate]:
    """The counts of each shard; those that the checkpoint lacks are computed and added to it."""
    with ShardFolder(checkpoint, {"job": "aggregate", "data": identity(shards)}) as folder:
        resume_shards(folder, _keep, shards, backend=backend, workers=workers, title="counting")
        frames = (
            checked_frame(folder.store, folder.entries[number], shards.query, folder.schema, shards.of)
            for number in sorted(folder.done)
        )
        return [light(of_cells(frame)) for frame in frames]


def _keep(given: tuple[Shards, str]) -> Written:
    shard, folder = given
    cells = _cells(shard).sort("query", "document", "position")
    return put_shard(Store(folder), cells, shard.query, shard.entries[0].number, note=True)


def _cells(shard: Shards) -> "polars.DataFrame":
    frame = shard.frame(0)
    for name in ("query", "document", "position", "click"):
        if name not in frame.columns:
            raise ValueError(
                f"a click log needs a column {name!r}, and these shards have none; write them again"
            )
    return cells_frame(frame)
