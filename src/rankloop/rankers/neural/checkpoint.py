"""Checkpoints of a training: one archive, whole or absent, and only for the training that wrote it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rankloop import _archive
from rankloop.rankers.neural.batches import DeviceLists
from rankloop.rankers.neural.processes import Processes
from rankloop.rankers.neural.training import Recipe, State, train

__all__ = ["read_checkpoint", "train_from", "write_checkpoint"]

_KIND = "checkpoint"
_COPIES, _BESIDE = 6, 64 << 20  # of the weights in a file: the best, the optimizer's; bytes of all else


def train_from(
    path: Path | None,
    training: dict[str, Any],
    scorer: torch.nn.Module,
    lists: DeviceLists,
    quality: Callable[[], float] | None,
    recipe: Recipe,
    processes: Processes,
) -> State:
    """`train`, from the checkpoint at `path` where there is one; the first process writes it each epoch."""

    def keep(state: State) -> None:
        if path is not None and processes.rank == 0:
            write_checkpoint(path, training, state)

    resumed = None if path is None else read_checkpoint(path, training, scorer)
    return train(scorer, lists, quality, recipe, processes, resumed=resumed, keep=keep)


def write_checkpoint(path: Path, training: dict[str, Any], state: State) -> None:
    """Write the state of the training; `training` identifies it by its parameters and data."""
    tensors = {f"weights/{name}": value for name, value in state.weights.items()}
    tensors |= {f"best/{name}": value for name, value in state.best.items()}
    for parameter, slots in state.moments.items():
        tensors |= {
            f"optimizer/{parameter}/{name}": value for name, value in slots.items() if value is not None
        }
    about = {
        "training": training,
        "epoch": state.epoch,
        "best_epoch": state.best_epoch,
        "losses": state.losses,
        "qualities": state.qualities,
    }
    members = {name: value.detach().cpu().numpy() for name, value in tensors.items()}
    _archive.write(path, _KIND, about, members)


def read_checkpoint(path: Path, training: dict[str, Any], scorer: torch.nn.Module) -> State | None:
    """The state at `path` of this same training of a network; None where there is no file yet."""
    if not path.exists():
        return None
    weights = sum(value.numel() * value.element_size() for value in scorer.state_dict().values())
    largest = _COPIES * weights + _BESIDE
    again = "delete it to start again"
    about, members = _archive.read(path, _KIND, again=again, largest=largest, offer=False)
    difference = _difference(about["training"], json.loads(json.dumps(training)))
    if difference is not None:
        raise ValueError(
            f"the checkpoint {path} is of another training ({difference}); delete it or choose another path"
        )
    tensors = {name: torch.from_numpy(np.asarray(value)) for name, value in members.items()}
    slots: dict[int, dict[str, Tensor]] = {}
    for name, value in _under("optimizer/", tensors).items():
        parameter, slot = name.split("/")
        slots.setdefault(int(parameter), {})[slot] = value
    return State(
        weights=_under("weights/", tensors),
        moments=slots,
        epoch=about["epoch"],
        best=_under("best/", tensors),
        best_epoch=about["best_epoch"],
        losses=about["losses"],
        qualities=about["qualities"],
    )


def _difference(saved: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    for name in [*wanted, *saved]:
        if saved.get(name) != wanted.get(name):
            return f"{name} was {saved.get(name)!r}, is {wanted.get(name)!r}"
    return None


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
