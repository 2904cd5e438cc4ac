"""A function over the shards of a data set."""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import numpy as np

from rankloop.cluster.backends.inputs import identity, shards_of
from rankloop.cluster.backends.resume import Written, resume_shards
from rankloop.cluster.backends.worker import packed
from rankloop.cluster.features import put_dataset
from rankloop.data import RankingDataset
from rankloop.data.shards.folder import ShardFolder
from rankloop.data.shards.shards import Shards, open_shards

__all__ = ["transform"]


def transform(
    data: Shards | str | Path,
    function: Callable[[RankingDataset], RankingDataset],
    out: str | Path,
    *,
    backend: str = "local",
    workers: int | None = None,
) -> Shards:
    """A shard folder of `function(dataset)` for each shard: more features, other labels, fewer documents.

    The function gets whole queries and returns some or all of them. A job that was interrupted resumes with
    the shards that are missing.
    """
    shards = shards_of(data, "documents")
    job = {"job": "transform", "data": identity(shards), "by": blake2b(packed(function)).hexdigest()}
    with ShardFolder(out, job) as folder:
        resume_shards(
            folder, _transformed, shards, function, backend=backend, workers=workers, title="transforming"
        )
        folder.finish("documents", "qid", shards.of)
    return open_shards(out)


def _transformed(given: tuple[Shards, Callable[[RankingDataset], RankingDataset], str]) -> Written:
    shard, function, out = given
    part = shard.dataset(0)
    made = function(part)
    if not isinstance(made, RankingDataset):
        raise ValueError(f"the function must give a RankingDataset, got {type(made).__name__}")
    new = np.flatnonzero(~np.isin(made.qid, part.qid))
    if len(new):
        raise ValueError(
            f"the function gave query {made.qid[new[0]]}, which is not among those it was given; "
            "keep the ids of queries, which place them in shards"
        )
    return put_dataset(made, out, shard.entries[0].number)
