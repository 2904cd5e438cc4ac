"""Features of judged documents, computed by many workers."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._names import one_of
from rankloop.cluster.backends.resume import Written, resume
from rankloop.data import Qrels, RankingDataset, to_frame
from rankloop.data.shards.folder import ShardFolder, put_shard
from rankloop.data.shards.shard_of import shard_of
from rankloop.data.shards.shards import Shards, open_shards
from rankloop.data.shards.store import Store
from rankloop.search import Features, Index
from rankloop.search.judged_lists import AMONG, grades_of, judged_queries

__all__ = ["features", "put_dataset"]


def features(
    index: str | Path,
    queries: Mapping[Any, str],
    judgments: Mapping[Any, Mapping[Any, float]] | Qrels,
    out: str | Path,
    *,
    declared: Sequence[str] | None = None,
    k: int = 1000,
    among: str = "judged",
    shards: int = 16,
    backend: str = "local",
    workers: int | None = None,
) -> Shards:
    """Features of the judged documents of many queries, by the code that serves them, as a shard folder.

    Queries are assigned to shards by their hash. Each worker opens the index at `index` (a path that every
    machine can read) and computes the features of the documents of its queries: those `among` the "judged",
    the "retrieved" (the first `k`) or "both". `declared` names the features; the default is
    `Features.standard`. A job that was interrupted resumes with the shards that are missing.
    """
    one_of("among", among, AMONG)
    grades = grades_of(judgments)
    asked = judged_queries(queries, grades)
    names = None if declared is None else tuple(declared)
    path = str(Path(index).absolute())
    known, _ = _opened(path, names)
    place = shard_of(asked, shards)
    work: dict[int, Any] = {}
    for number in np.unique(place).tolist():
        chosen = [qid for qid, one in zip(asked, place.tolist(), strict=True) if one == number]
        work[number] = ({q: asked[q] for q in chosen}, {q: grades[q] for q in chosen})
    judged = {qid: grades[qid] for qid in asked}
    job = {
        "job": "features",
        "index": [path, known.generation],
        "features": names,
        "k": k,
        "among": among,
        "shards": shards,
        "queries": blake2b(repr([asked, judged]).encode()).hexdigest(),
    }
    with ShardFolder(out, job) as folder:
        store = folder.store.path
        inputs = {
            number: (path, names, known.generation, k, among, *lists, store, number)
            for number, lists in work.items()
        }
        sizes = {number: len(lists[0]) for number, lists in work.items()}
        resume(folder, _describe, inputs, sizes, backend=backend, workers=workers, title="features")
        folder.finish("documents", "qid", shards)
    return open_shards(out)


def _describe(given: tuple[Any, ...]) -> Written:
    index, names, generation, k, among, queries, judgments, out, number = given
    opened, described = _opened(index, names)
    if opened.generation != generation:
        raise ValueError(
            f"{index} is at generation {opened.generation} here and was at {generation} where the job "
            "started; do not change the index while features are computed"
        )
    search = opened.retriever(k=k) >> described
    known = [q for q in queries if among != "judged" or _any_there(opened, judgments[q])]
    if known:
        made = search.dataset({q: queries[q] for q in known}, judgments, among=among)
    else:
        width = len(described.names)
        none = np.zeros(0, np.str_)
        made = RankingDataset(np.zeros((0, width)), [], none, docid=none, feature_names=described.names)
    return put_dataset(made, out, number)


def _any_there(index: Index, judged: Mapping[str, float]) -> bool:
    from rankloop.search.candidates import Candidates

    return len(Candidates.of("", index.snapshot, judged)) > 0


def put_dataset(made: RankingDataset, out: str, number: int) -> Written:
    """Write a data set as one shard, sorted by query."""
    ordered = made.select(np.argsort(made.qid, kind="stable"))
    return put_shard(Store(out), to_frame(ordered), "qid", number, note=True)


@lru_cache(maxsize=2)
def _opened(index: str, names: tuple[str, ...] | None) -> tuple[Index, Features]:
    opened = Index.open(index)
    return opened, Features.standard(opened) if names is None else Features(list(names))
