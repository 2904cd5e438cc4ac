"""Training on shards: trees by LightGBM's own distributed learner, networks by PyTorch's processes."""

from pathlib import Path
from typing import Any, TypeVar

from sklearn.base import clone

from rankloop._progress import progress
from rankloop.cluster.backends.backend import backend_of
from rankloop.cluster.backends.inputs import shards_of
from rankloop.cluster.training import trees
from rankloop.data import RankingDataset
from rankloop.data.shards.shards import Shards
from rankloop.data.shards.store import Store
from rankloop.rankers import LambdaMART, Ranker
from rankloop.rankers.saving.load import loads

__all__ = ["fit"]

R = TypeVar("R", bound=Ranker)


def fit(
    ranker: R,
    train: Shards | str | Path,
    valid: Shards | RankingDataset | str | Path | None = None,
    *,
    backend: str = "local",
    workers: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 100,
) -> R:
    """A trained copy of a `LambdaMART` (backend "lightgbm") or a `NeuralRanker`.

    Trees: each worker holds its shards (whole queries) and computes the lambdas of the loss on them, and
    LightGBM's data-parallel learner grows one forest from the histograms of all. Every worker reads the
    whole validation set, so that all stop at the same tree. With one worker the model equals that of
    `ranker.fit(train.whole(), valid)` to the last digit; with more, bins are found on parts of the data.

    Networks: every process maps the whole set from the disk of its machine and computes its part of
    each batch; gradients are summed. The same code runs under `torchrun`, which starts the processes itself.

    When a worker is lost the training starts again, from `checkpoint` where there is one: a folder that every
    machine can reach (for trees also an `fsspec` address). Trees are then grown `every` so many at a time,
    so that an interrupted training ends with the same model as one that was not; networks keep each epoch.

    Workers listen on the address by which the cluster knows their machine (loopback where all are on one),
    until they have met; each proves that it belongs to the job. What they exchange is not encrypted.
    """
    shards = shards_of(train, "documents")
    judged = valid if valid is None or isinstance(valid, RankingDataset) else shards_of(valid, "documents")
    if isinstance(ranker, LambdaMART):
        trees.check(ranker, every)
        trees.refuse_idle(shards, workers or 1)
        job: Any = trees.TreesJob(trees.settled(ranker, shards), shards, judged, _folder(checkpoint), every)
        runner, total, torch = backend_of(backend, workers), ranker.trees, False
        task: Any = trees.grow
    elif type(ranker).__name__ == "NeuralRanker":
        from rankloop.cluster.training import networks

        networks.check(_folder(checkpoint))
        job = networks.NetworkJob(clone(ranker), shards, judged, _folder(checkpoint))
        if networks.under_torchrun():
            return loads(networks.train(job, networks.TorchrunMember()))
        runner, total, torch = backend_of(backend, workers), ranker.get_params()["epochs"], True
        task = networks.train
    else:
        raise ValueError(
            f"{type(ranker).__name__} learns in one process: fit it on shards.whole(); LambdaMART and "
            "NeuralRanker learn on many"
        )
    with progress("training", total) as advance:
        made = loads(runner.together(task, job, advance, torch=torch))
    assert isinstance(made, type(ranker))
    return made


def _folder(checkpoint: str | Path | None) -> str | None:
    return None if checkpoint is None else Store(checkpoint).path
