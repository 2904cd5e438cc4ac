"""The state of a learner in one file: a manifest and plain arrays, no pickle."""

import json
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._atomic import replacing

__all__ = ["flat", "nested", "read_state", "write_state"]

_FORMAT = 1
Arrays = dict[str, NDArray[Any]]


def write_state(path: str | Path, learner: str, about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write the state to one file, whole or not at all."""
    with replacing(path) as beside, zipfile.ZipFile(beside, "w") as file:
        file.writestr("manifest.json", json.dumps({"format": _FORMAT, "learner": learner, **about}))
        for name, value in arrays.items():
            held = BytesIO()
            np.save(held, value, allow_pickle=False)
            file.writestr(f"{name}.npy", held.getvalue())


def read_state(path: str | Path, learner: str) -> tuple[dict[str, Any], Arrays]:
    """What the same kind of learner wrote."""
    try:
        with zipfile.ZipFile(path) as file:
            about = json.loads(file.read("manifest.json"))
            arrays = {
                name.removesuffix(".npy"): np.load(BytesIO(file.read(name)), allow_pickle=False)
                for name in file.namelist()
                if name.endswith(".npy")
            }
        written_by, version = about["learner"], about["format"]
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a saved learner, or it was cut short ({error})") from None
    if version > _FORMAT:
        raise ValueError(f"{path} was written by a newer rankloop; upgrade to read it")
    if written_by != learner:
        raise ValueError(f"{path} holds a {written_by!r} learner, this is {learner!r}")
    return about, arrays


def flat(snapshot: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """A learner's snapshot as what JSON holds, and arrays by name."""
    arrays = {
        f"{part}/{name}": value for part in ("model", "memory") for name, value in snapshot[part].items()
    }
    return {"pages": snapshot["pages"], "random": snapshot["random"]}, arrays


def nested(about: Mapping[str, Any], arrays: Arrays, under: str = "") -> dict[str, Any]:
    """The snapshot that was flattened, from those arrays whose names begin with `under`."""
    parts: dict[str, dict[str, Any]] = {"model": {}, "memory": {}}
    for name, value in arrays.items():
        if name.startswith(under):
            part, key = name.removeprefix(under).split("/", 1)
            if part in parts:
                parts[part][key] = value
    return {"pages": about["pages"], "random": about["random"], **parts}
