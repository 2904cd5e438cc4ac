"""A network trained by several processes that share every batch."""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from rankloop.cluster.backends.backend import Member
from rankloop.cluster.training.progress import telling
from rankloop.data import RankingDataset
from rankloop.data.load_dataset import load_dataset
from rankloop.data.shards.shards import Shards
from rankloop.rankers import NeuralRanker
from rankloop.rankers.saving.load import dumps

__all__ = ["Started", "Work", "check", "train", "under_torchrun"]

_STATE = "network.zip"


@dataclass(frozen=True)
class Work:
    """What every member is given."""

    ranker: NeuralRanker
    train: Shards
    valid: Shards | RankingDataset | None
    checkpoint: str | None
    token: str = field(default_factory=lambda: uuid4().hex)  # by which all tries know their files


def under_torchrun() -> bool:
    """Whether this process is one of several already."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def train(work: Work, member: Member) -> bytes:
    """The trained network, the same in every member."""
    valid = work.valid.whole() if isinstance(work.valid, Shards) else work.valid
    ranker = work.ranker
    if work.checkpoint is not None:
        ranker.set_params(checkpoint=str(Path(work.checkpoint) / _STATE))
    data = _mapped(work, member)
    with telling(member, "rankloop.rankers.neural.training"):
        ranker.fit(data, valid)
    ranker.fingerprint_ = work.train.fingerprint
    return dumps(ranker)


def check(checkpoint: str | None) -> None:
    if checkpoint is not None and "://" in checkpoint:
        raise ValueError(
            f"a network keeps its epochs in a folder that every machine mounts, and {checkpoint} is none; "
            "give the path of one"
        )


def _mapped(work: Work, member: Member) -> RankingDataset:
    """All shards as files that the processes of a machine map together; gathered by the first of them.

    The files go as soon as they are mapped, and with them what an earlier try left that was killed over
    them: what is mapped stays until it is let go, and a kill later on leaves nothing.
    """
    met = member.meet((member.machine, work.token))
    first = [machine for machine, _ in met].index(member.machine)
    folder = Path(tempfile.gettempdir()) / f"rankloop-{met[0][1]}-{first}-rows"
    try:
        if member.rank == first:
            _sweep(folder)
            work.train.whole(folder)
        member.meet("the rows are there")
        data = load_dataset(folder)
        member.meet("the rows are mapped")
    finally:
        if member.rank == first:
            _sweep(folder)
    return data


def _sweep(folder: Path) -> None:
    for left in folder.parent.glob(f"*{folder.name}*"):  # what is being written has a longer name
        shutil.rmtree(left, ignore_errors=True)


class Started:
    """The processes of `torchrun`, as a team: they meet through torch."""

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

    def meet(self, value: Any) -> list[Any]:
        met: list[Any] = [None] * self.count
        self._distributed.all_gather_object(met, value)
        return met

    def network(self) -> dict[str, Any]:
        raise ValueError("trees are not grown under torchrun; call fit without it")

    def tell(self, by: float, note: str = "") -> None:
        """Nobody waits: each process of `torchrun` is its own."""
