"""The state of a learner in one file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankloop import _archive
from rankloop._arrays import Array

__all__ = ["flat", "nested", "read_state", "write_state"]

_KIND = "learner"
Arrays = dict[str, Array]


def write_state(path: str | Path, learner: str, about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write the state to one file, whole or not at all."""
    _archive.write(path, _KIND, {"learner": learner, **about}, arrays)


def read_state(path: str | Path, learner: str, largest: int | None) -> tuple[dict[str, Any], Arrays]:
    """What the same kind of learner wrote."""
    again = "start a new learner and save it"
    about, members = _archive.read(path, _KIND, again=again, largest=largest)
    if about["learner"] != learner:
        raise ValueError(f"{path} holds a {about['learner']!r} learner, this is {learner!r}")
    return about, {name: np.asarray(value) for name, value in members.items()}


def flat(snapshot: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """A learner's snapshot as a part for JSON, and arrays by name."""
    arrays = {
        f"{part}/{name}": value for part in ("model", "memory") for name, value in snapshot[part].items()
    }
    return {"pages": snapshot["pages"], "random": snapshot["random"]}, arrays


def nested(about: Mapping[str, Any], arrays: Arrays, under: str = "") -> dict[str, Any]:
    """The snapshot that `flat` took apart, from the arrays whose names begin with `under`."""
    parts: dict[str, dict[str, Any]] = {"model": {}, "memory": {}}
    for name, value in arrays.items():
        if name.startswith(under):
            part, key = name.removeprefix(under).split("/", 1)
            if part in parts:
                parts[part][key] = value
    return {"pages": about["pages"], "random": about["random"], **parts}
