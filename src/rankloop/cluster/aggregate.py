"""Impressions and clicks of a log that is larger than memory."""

from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.clicks import Aggregate
from rankloop.clicks.aggregate import cells_frame, light, merged, of_cells
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each, shards_of, told
from rankloop.data.shards.folder import ShardFolder, put_shard
from rankloop.data.shards.manifest import Entry, checked_frame
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
    """What `rankloop.clicks.aggregate` gives on the whole log: whole numbers, so the sum is exact.

    A query lies in one shard, so no count is ever spread over two: each shard is counted by itself, and
    the cells of all are put side by side. The cells must fit in memory, the log need not. With `checkpoint`
    (a folder) the cells of finished shards are kept there, and the same call goes on after them.
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
    """The counts of each shard, those that are in the folder already and those that come to it now."""
    with ShardFolder(checkpoint, {"job": "aggregate", "data": told(shards)}) as folder:
        work = [shard for shard in each(shards) if shard.entries[0].number not in folder.done]
        over(
            _keep,
            [(shard, folder.store.path) for shard in work],
            backend=backend,
            workers=workers,
            title="counting",
            sizes=[shard.n_rows for shard in work],
            done=lambda _, made: folder.add(*made),
        )
        frames = (
            checked_frame(folder.store, folder.entries[number], shards.query, folder.schema, shards.of)
            for number in sorted(folder.done)
        )
        return [light(of_cells(frame)) for frame in frames]


def _keep(asked: tuple[Shards, str]) -> tuple[Entry, dict[str, str]]:
    shard, folder = asked
    cells = _cells(shard).sort("query", "document", "position")
    return put_shard(Store(folder), cells, shard.query, shard.entries[0].number, note=True)


def _cells(shard: Shards) -> "polars.DataFrame":
    frame = shard.frame(0)
    for name in ("query", "document", "position", "click"):
        if name not in frame.columns:
            raise ValueError(
                f"a click log has a column {name!r}, and these shards have none; write them again"
            )
    return cells_frame(frame)
