"""Checkpoints of a training: one zip of arrays, whole or absent, and only for the training it came from."""

import io
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rankloop._atomic import replacing
from rankloop.rankers.neural.training import State

__all__ = ["read", "write"]


def write(path: Path, about: dict[str, Any], state: State) -> None:
    """Keep where the training stands; `about` says which training it is."""
    arrays = {f"weights/{name}": value for name, value in state.weights.items()}
    arrays |= {f"best/{name}": value for name, value in state.best.items()}
    for parameter, slots in state.moments.items():
        arrays |= {
            f"optimizer/{parameter}/{name}": value for name, value in slots.items() if value is not None
        }
    numbers = {
        "training": about,
        "epoch": state.epoch,
        "best_epoch": state.best_epoch,
        "losses": state.losses,
        "qualities": state.qualities,
    }
    with replacing(path) as beside, zipfile.ZipFile(beside, "w") as archive:
        archive.writestr("state.json", json.dumps(numbers))
        for name, value in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, value.detach().cpu().numpy(), allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())


def read(path: Path, about: dict[str, Any]) -> State | None:
    """The state kept at `path` for this very training; None where there is none yet."""
    if not path.exists():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            numbers = json.loads(archive.read("state.json"))
            arrays = {
                name.removesuffix(".npy"): torch.from_numpy(np.load(io.BytesIO(archive.read(name))))
                for name in archive.namelist()
                if name.endswith(".npy")
            }
            other = _difference(numbers["training"], json.loads(json.dumps(about)))
    except (zipfile.BadZipFile, zlib.error, json.JSONDecodeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is damaged or no checkpoint ({error}); delete it to start anew") from error
    if other is not None:
        raise ValueError(
            f"the checkpoint {path} is of another training ({other}); delete it or choose another path"
        )
    slots: dict[int, dict[str, Tensor]] = {}
    for name, value in arrays.items():
        if name.startswith("optimizer/"):
            _, parameter, slot = name.split("/")
            slots.setdefault(int(parameter), {})[slot] = value
    return State(
        weights=_under("weights/", arrays),
        moments=slots,
        epoch=numbers["epoch"],
        best=_under("best/", arrays),
        best_epoch=numbers["best_epoch"],
        losses=numbers["losses"],
        qualities=numbers["qualities"],
    )


def _difference(kept: dict[str, Any], wanted: dict[str, Any]) -> str | None:
    for name in [*wanted, *kept]:
        if kept.get(name) != wanted.get(name):
            return f"{name} was {kept.get(name)!r}, is {wanted.get(name)!r}"
    return None


def _under(prefix: str, arrays: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
