"""Features of documents, computed shard by shard."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._names import one_of
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each, shards_of, told
from rankloop.cluster.backends.worker import packed
from rankloop.data import Qrels, RankingDataset, to_frame
from rankloop.data.shards.folder import ShardFolder, put_shard
from rankloop.data.shards.manifest import Entry
from rankloop.data.shards.shard_of import shard_of
from rankloop.data.shards.shards import Shards, open_shards
from rankloop.data.shards.store import Store
from rankloop.search import Features, Index
from rankloop.search.judged_lists import AMONG, grades_of, judged_lists

__all__ = ["features", "transform"]

Made = tuple[Entry, dict[str, str]]


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

    Queries go to shards by their hash, and each worker opens the index at `index` (which every machine
    must see) and describes the documents of its queries: those `among` the "judged", the "retrieved" (the
    first `k`) or "both". `declared` names the features; without it they are `Features.standard`. A job
    that was interrupted goes on with the shards that are missing.
    """
    one_of("among", among, AMONG)
    grades = grades_of(judgments)
    asked = {str(qid): query for qid, query in queries.items() if str(qid) in grades}
    if not asked:
        raise ValueError(
            f"none of the {len(queries)} queries has judgments ({len(grades)} queries are judged); "
            "are the query ids the same?"
        )
    names = None if declared is None else tuple(declared)
    path = str(Path(index).absolute())
    known, _ = _opened(path, names)
    place = shard_of(asked, shards)
    work: dict[int, Any] = {}
    for number in np.unique(place).tolist():
        chosen = [qid for qid, its in zip(asked, place.tolist(), strict=True) if its == number]
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
        numbers = [number for number in work if number not in folder.done]
        _run(
            folder,
            _describe,
            [
                (path, names, known.generation, k, among, *work[number], folder.store.path, number)
                for number in numbers
            ],
            [len(work[number][0]) for number in numbers],
            shards,
            backend,
            workers,
        )
    return open_shards(out)


def transform(
    data: Shards | str | Path,
    function: Callable[[RankingDataset], RankingDataset],
    out: str | Path,
    *,
    backend: str = "local",
    workers: int | None = None,
) -> Shards:
    """A shard folder of `function(dataset)` for each shard: further features, other labels, fewer documents.

    The function sees whole queries and gives back some or all of them. A job that was interrupted goes on
    with the shards that are missing.
    """
    shards = shards_of(data, "documents")
    job = {"job": "transform", "data": told(shards), "by": blake2b(packed(function)).hexdigest()}
    with ShardFolder(out, job) as folder:
        work = [shard for shard in each(shards) if shard.entries[0].number not in folder.done]
        asked = [(shard, function, folder.store.path) for shard in work]
        _run(folder, _transformed, asked, [shard.n_rows for shard in work], shards.of, backend, workers)
    return open_shards(out)


def _run(
    folder: ShardFolder,
    task: Callable[[Any], Made],
    asked: list[Any],
    sizes: list[int],
    shards: int,
    backend: str,
    workers: int | None,
) -> None:
    over(
        task,
        asked,
        backend=backend,
        workers=workers,
        title="features",
        sizes=sizes,
        done=lambda _, made: folder.add(*made),
    )
    folder.finish("documents", "qid", shards)


def _describe(asked: tuple[Any, ...]) -> Made:
    index, names, generation, k, among, queries, judgments, out, number = asked
    opened, described = _opened(index, names)
    if opened.generation != generation:
        raise ValueError(
            f"{index} is at generation {opened.generation} here and was at {generation} where the job "
            "started; leave the index alone while features are computed"
        )
    retrieve = opened.retriever(k=k)
    known = [q for q in queries if among != "judged" or _any_there(opened, judgments[q])]
    if known:
        made = judged_lists(retrieve, described, {q: queries[q] for q in known}, judgments, among)
    else:
        width = len(described.names)
        none = np.zeros(0, np.str_)
        made = RankingDataset(np.zeros((0, width)), [], none, docid=none, feature_names=described.names)
    return _put(made, out, number)


def _any_there(index: Index, judged: Mapping[str, float]) -> bool:
    from rankloop.search.candidates import Candidates

    return len(Candidates.of("", index.snapshot, judged)) > 0


def _transformed(asked: tuple[Shards, Callable[[RankingDataset], RankingDataset], str]) -> Made:
    shard, function, out = asked
    part = shard.dataset(0)
    made = function(part)
    if not isinstance(made, RankingDataset):
        raise ValueError(f"the function must give a RankingDataset, got {type(made).__name__}")
    strange = np.flatnonzero(~np.isin(made.qid, part.qid))
    if len(strange):
        raise ValueError(
            f"the function gave query {made.qid[strange[0]]}, which is not among those it was given; "
            "queries keep their ids, as the id says in which shard a query lies"
        )
    return _put(made, out, shard.entries[0].number)


def _put(made: RankingDataset, out: str, number: int) -> Made:
    ordered = made.select(np.argsort(made.qid, kind="stable"))
    return put_shard(Store(out), to_frame(ordered), "qid", number, note=True)


@lru_cache(maxsize=2)
def _opened(index: str, names: tuple[str, ...] | None) -> tuple[Index, Features]:
    opened = Index.open(index)
    return opened, Features.standard(opened) if names is None else Features(list(names))
