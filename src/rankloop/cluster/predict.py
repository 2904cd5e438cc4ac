"""Scores of all documents, shard by shard."""

from hashlib import blake2b
from pathlib import Path
from typing import Any

from rankloop.cluster.backends.inputs import identity, ranker_bytes, ranker_of, shards_of
from rankloop.cluster.backends.resume import Written, resume_shards
from rankloop.data.shards.folder import ShardFolder, put_shard
from rankloop.data.shards.shards import Shards, open_shards
from rankloop.data.shards.store import Store

__all__ = ["predict"]


def predict(
    ranker: Any,
    data: Shards | str | Path,
    out: str | Path,
    *,
    backend: str = "local",
    workers: int | None = None,
) -> Shards:
    """Write the scores of a ranker (or of its file) to Parquet: qid, docid where there is one, score.

    `out` is a shard folder of kind "scores" with the shards and rows of `data`. A job that was interrupted
    resumes with the shards that are missing when it is called again.
    """
    shards, whole = shards_of(data, "documents"), ranker_bytes(ranker)
    job = {"job": "predict", "data": identity(shards), "ranker": blake2b(whole).hexdigest()}
    with ShardFolder(out, job) as folder:
        resume_shards(folder, _score, shards, whole, backend=backend, workers=workers, title="scoring")
        folder.finish("scores", "qid", shards.of)
    return open_shards(out)


def _score(given: tuple[Shards, bytes, str]) -> Written:
    import polars

    shard, whole, out = given
    part = shard.dataset(0)
    named = {} if part.docid is None else {"docid": part.docid}
    frame = polars.DataFrame({"qid": part.row_qid, **named, "score": ranker_of(whole).predict(part)})
    return put_shard(Store(out), frame, "qid", shard.entries[0].number, note=True)
