"""Impressions and clicks of a log that is larger than memory."""

from pathlib import Path
from typing import Any

from rankloop.clicks import Aggregate, _columns
from rankloop.clicks.aggregate import _summed, merged
from rankloop.cluster._engine import over
from rankloop.cluster._inputs import each, shards_of
from rankloop.data.shards import Shards

__all__ = ["aggregate", "counted"]

_KEYS = ["query", "document", "position"]


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
    return counted(shard.frame(0))


def counted(frame: Any) -> Aggregate:
    """The cells of a frame with one impression a row."""
    import polars as pl

    for name in (*_KEYS, "click"):
        if name not in frame.columns:
            raise ValueError(
                f"a click log has a column {name!r}, and these shards have none; write them again"
            )
    click = pl.col("click").cast(pl.Float64)
    counts = frame.group_by(_KEYS).agg(
        impressions=pl.len().cast(pl.Int64),
        clicks=(click == 1).sum().cast(pl.Int64),
        wrong=(~click.is_in([0.0, 1.0])).fill_null(True).sum(),
    )
    wrong = counts.filter(pl.col("wrong") > 0)
    if len(wrong):
        first = wrong.row(0, named=True)
        raise ValueError(
            f"click is 0 or 1, but {first['wrong']} impressions of document {first['document']} "
            f"of query {first['query']} have something else"
        )
    rows = len(counts)
    query, document = (_columns.code(_columns.ids(counts[name].to_numpy(), rows, name)) for name in _KEYS[:2])
    position = _columns.whole(counts["position"].to_numpy(), rows, "position")
    return _summed(query, document, position, counts["impressions"].to_numpy(), counts["clicks"].to_numpy())
