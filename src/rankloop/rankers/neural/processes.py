"""Training in several processes: each takes a part of every batch, and gradients are summed."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn

__all__ = ["Processes", "joined", "own_device"]


@dataclass(frozen=True, slots=True)
class Processes:
    """The rank of this process and their number; with one process nothing is exchanged."""

    rank: int = 0
    count: int = 1

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Every process gets the sum over all of them, in one exchange."""
        if self.count == 1:
            return
        owners = list(parameters)
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in owners]
        flat = torch.cat([gradient.ravel() for gradient in gradients])
        distributed.all_reduce(flat)
        for owner, summed in zip(
            owners, torch.split_with_sizes(flat, [p.numel() for p in owners]), strict=True
        ):
            owner.grad = summed.view_as(owner)

    def summed(self, value: Tensor) -> Tensor:
        if self.count > 1:
            distributed.all_reduce(value)
        return value

    def agreed(self, value: float, device: torch.device) -> float:
        """The value of the first process, so that all take the same decision."""
        if self.count == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64, device=device)
        distributed.broadcast(shared, 0)
        return float(shared)


@contextmanager
def joined(device: torch.device) -> Iterator[Processes]:
    """The processes of `torchrun` or of an existing group; else this one alone."""
    if distributed.is_available() and distributed.is_initialized():
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    elif distributed.is_available() and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", **_meeting())
        try:
            yield Processes(distributed.get_rank(), distributed.get_world_size())
        finally:
            distributed.destroy_process_group()
    else:
        yield Processes()


def _meeting() -> dict[str, Any]:
    """How the processes find each other: by a file of this machine, or at the address of `torchrun`."""
    file = os.environ.get("RANKLOOP_MEETING")
    if file is None:
        return {}
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return {"init_method": Path(file).as_uri(), "rank": rank, "world_size": count}


def own_device(name: str) -> torch.device:
    """The device of that name; `"auto"` is CUDA if available, one device per process of a machine."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device is 'auto', 'cpu', 'cuda' or 'cuda:1', got {name!r}") from None
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"device is {name!r} but torch finds no CUDA; use device='auto' or 'cpu'")
        index = int(os.environ.get("LOCAL_RANK", "0")) if device.index is None else device.index
        return torch.device("cuda", index)
    return device
