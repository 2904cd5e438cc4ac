"""A ranker from a data set and a click log that is larger than memory."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rankloop.cluster.aggregate import aggregate
from rankloop.cluster.backends.inputs import shards_of
from rankloop.cluster.propensity import propensity as curve_of
from rankloop.data import RankingDataset
from rankloop.data.shards.shards import Shards
from rankloop.propensity import Propensity
from rankloop.rankers import LambdaMART
from rankloop.unbiased import Learned
from rankloop.unbiased import learn as learn_here
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.curve import if_precise

__all__ = ["learn"]


def learn(
    log: Shards | str | Path,
    data: RankingDataset | Shards | str | Path,
    *,
    propensity: ClickBias | None = None,
    rankers: Mapping[str, LambdaMART] | None = None,
    networks: bool = True,
    exportable: bool = False,
    budget: str = "usual",
    seed: int = 0,
    backend: str = "local",
    workers: int | None = None,
    checkpoint: str | Path | None = None,
) -> Learned:
    """What `rankloop.unbiased.learn` does, with the log counted and its curve estimated shard by shard.

    The workers count; the trees are trained in this process, on the counts and the documents of `data`, which
    must fit in memory. Counts do not keep pages, so examination depends on the rank only; for cascade models
    give a part of the log to `unbiased.learn`. Shards of documents need docids, because rows have other
    numbers in them. With `checkpoint` (a folder) the counts are kept, and the same call resumes from them.
    """
    shards = shards_of(log, "clicks")
    documents = data if isinstance(data, RankingDataset) else shards_of(data, "documents").whole()
    if not isinstance(data, RankingDataset) and documents.docid is None:
        raise ValueError(
            "a log names documents by docid or by row, and shards keep no row numbers; write shards of a "
            "data set with docids"
        )
    counts = aggregate(shards, backend=backend, workers=workers, checkpoint=checkpoint)
    given, by = propensity, "the caller"
    notes: list[str] = []
    if given is None:
        given, by, notes = _experiment(shards, seed, backend, workers)
    found = learn_here(
        counts,
        documents,
        propensity=given,
        rankers=rankers,
        networks=networks,
        exportable=exportable,
        budget=budget,
        seed=seed,
    )
    if given is None:
        return replace(found, warnings=(*notes, *found.warnings))
    return replace(found, curve_by=by, warnings=(*notes, *found.warnings))


def _experiment(
    shards: Shards, seed: int, backend: str, workers: int | None
) -> tuple[Propensity | None, str, list[str]]:
    """The curve of an experiment in the log, where it reaches every rank and its interval is narrow."""
    try:
        found = curve_of(shards, seed=seed, backend=backend, workers=workers)
    except ValueError as error:  # no experiment connects the ranks
        return None, "", [f"no experiment gave a curve ({error}); it was learned instead"]
    return if_precise(found, int(shards.ranges["position"][1]))
