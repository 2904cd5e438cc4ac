"""A network trained by several processes, each on its part of every batch."""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from rankloop.cluster.backends.backend import Member
from rankloop.cluster.training.job import TrainingJob
from rankloop.cluster.training.progress import reporting
from rankloop.data import RankingDataset
from rankloop.data.load_dataset import load_dataset
from rankloop.rankers import NeuralRanker
from rankloop.rankers.saving.load import dumps

__all__ = ["NetworkJob", "TorchrunMember", "check", "train", "under_torchrun"]

_STATE = "netjob.zip"


@dataclass(frozen=True)
class NetworkJob(TrainingJob[NeuralRanker]):
    """The training of a network; `token` names its temporary files, the same in all tries."""

    token: str = field(default_factory=lambda: uuid4().hex)


def under_torchrun() -> bool:
    """Whether this process is one of several already."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def train(job: NetworkJob, member: Member) -> bytes:
    """The trained network, the same in every member."""
    ranker = job.ranker
    if job.checkpoint is not None:
        ranker.set_params(checkpoint=str(Path(job.checkpoint) / _STATE))
    data = _mapped(job, member)
    with reporting(member, "rankloop.rankers.neural.training"):
        ranker.fit(data, job.valid_data())
    ranker.fingerprint_ = job.train.fingerprint
    return dumps(ranker)


def check(checkpoint: str | None) -> None:
    if checkpoint is not None and "://" in checkpoint:
        raise ValueError(
            f"the checkpoint of a network is a folder that every machine mounts, and {checkpoint} is not; "
            "give the path of one"
        )


def _mapped(job: NetworkJob, member: Member) -> RankingDataset:
    """All shards as files that the processes of a machine map together; the first process writes them.

    The files are removed as soon as all have mapped them, also those of an earlier try that was killed: a
    mapping stays valid without its file, and a process that is killed later leaves nothing behind.
    """
    values = member.gather((member.machine, job.token))
    first = [machine for machine, _ in values].index(member.machine)
    folder = Path(tempfile.gettempdir()) / f"rankloop-{values[0][1]}-{first}-rows"
    try:
        if member.rank == first:
            _sweep(folder)
            job.train.whole(folder)
        member.gather("the rows are there")
        data = load_dataset(folder)
        member.gather("the rows are mapped")
    finally:
        if member.rank == first:
            _sweep(folder)
    return data


def _sweep(folder: Path) -> None:
    for left in folder.parent.glob(f"*{folder.name}*"):  # unfinished ones have longer names
        shutil.rmtree(left, ignore_errors=True)


class TorchrunMember:
    """A process of `torchrun` as a member of a team; values are exchanged through torch."""

    def __init__(self) -> None:
        import torch.distributed as distributed

        from rankloop.rankers.neural.processes import own_device

        self._distributed: Any = distributed
        if not distributed.is_initialized():
            distributed.init_process_group("nccl" if own_device("auto").type == "cuda" else "gloo")
        self.rank, self.count = distributed.get_rank(), distributed.get_world_size()

    @property
    def machine(self) -> int:
        return int(os.environ.get("GROUP_RANK", "0"))

    def gather(self, value: Any) -> list[Any]:
        values: list[Any] = [None] * self.count
        self._distributed.all_gather_object(values, value)
        return values

    def address(self) -> str:
        raise ValueError("trees cannot be trained under torchrun; call fit without it")

    def report(self, by: float, note: str = "") -> None:
        """Nothing to do: no other process waits for this one."""
