"""Scores of all documents, shard by shard."""

from hashlib import blake2b
from pathlib import Path
from typing import Any

from rankloop.cluster._engine import over
from rankloop.cluster._inputs import needed, ranker_bytes, ranker_of, shards_of
from rankloop.data._shard_files import ShardFolder, put_shard
from rankloop.data._shard_manifest import Entry
from rankloop.data._shard_store import Store
from rankloop.data.shards import Shards, open_shards

__all__ = ["predict"]


def predict(
    ranker: Any,
    data: Shards | str | Path,
    out: str | Path,
    *,
    on: str = "local",
    workers: int | None = None,
) -> Shards:
    """Write the scores of a ranker (or of its file) to Parquet: qid, docid where there is one, score.

    `out` is a shard folder of kind "scores", shard by shard and row by row that of `data`. A job that was
    interrupted goes on with the shards that are missing when it is called again.
    """
    shards, whole = shards_of(data, "documents"), ranker_bytes(ranker)
    job = {"job": "predict", "data": shards.fingerprint, "ranker": blake2b(whole).hexdigest()}
    with ShardFolder(out, job) as folder:
        numbers = [i for i in needed(shards) if i not in folder.done]
        over(
            _score,
            [(shards, number, whole, folder.store.path) for number in numbers],
            on=on,
            workers=workers,
            title="scoring",
            sizes=[shards.entries[number].rows for number in numbers],
            done=lambda _, made: folder.add(*made),
        )
        folder.finish("scores", "qid", len(shards))
    return open_shards(out)


def _score(asked: tuple[Shards, int, bytes, str]) -> tuple[Entry, dict[str, str]]:
    import polars

    shards, number, whole, out = asked
    part = shards.dataset(number)
    named = {} if part.docid is None else {"docid": part.docid}
    frame = polars.DataFrame({"qid": part.row_qid, **named, "score": ranker_of(whole).predict(part)})
    return put_shard(Store(out), frame, "qid", number, note=True)
