"""Click models in files: numpy arrays and one manifest, no pickle."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._atomic import replacing
from rankloop._names import unknown
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.parameters import ByFeatures, ByGrade, ByLabel, ByPair, Constant

__all__ = ["load", "save"]

_FORMAT = 1
_KINDS = {kind.__name__: kind for kind in (ByFeatures, ByGrade, ByPair, Constant)}


def save(model: ClickModel, path: str | Path) -> None:
    """Write a model, given or fitted; functions cannot be written."""
    arrays: dict[str, Any] = {}
    options = {field.name: getattr(model, field.name) for field in fields(model)}
    learned = model.__dict__.get("learned_")
    manifest: dict[str, Any] = {
        "format": _FORMAT,
        "model": type(model).__name__,
        "options": {name: _packed(value, f"options.{name}", arrays) for name, value in options.items()},
        "learned": None
        if learned is None
        else {name: _packed(value, f"learned.{name}", arrays) for name, value in learned.items()},
    }
    if learned is not None:
        arrays["history"] = model.history_
    with replacing(path) as beside, open(beside, "wb") as file:
        np.savez_compressed(file, manifest=np.array(json.dumps(manifest)), **arrays)


def load(path: str | Path) -> ClickModel:
    """Read a model that `save` wrote.

    >>> import tempfile
    >>> from rankloop.clicks import PBM
    >>> path = Path(tempfile.mkdtemp()) / "user.npz"
    >>> PBM(examination=[1.0, 0.5], attraction=[0.1, 0.9]).save(path)
    >>> load(path).click_probability([1, 1])
    array([0.9 , 0.45])
    """
    import rankloop.clicks as family

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        manifest = json.loads(str(arrays["manifest"]))
    except (ValueError, KeyError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{Path(path).name} is not a saved click model") from None
    if manifest["format"] > _FORMAT:
        raise ValueError(f"{Path(path).name} was written by a newer rankloop; upgrade to read it")
    kind = getattr(family, manifest["model"], None)
    if not (isinstance(kind, type) and issubclass(kind, ClickModel)):
        raise unknown("click model", manifest["model"], family.__all__)
    model: ClickModel = kind(**{name: _unpacked(it, arrays) for name, it in manifest["options"].items()})
    if manifest["learned"] is not None:
        model.learned_ = {name: _unpacked(it, arrays) for name, it in manifest["learned"].items()}
        model.history_ = arrays["history"]
    return model


def _packed(value: Any, place: str, arrays: dict[str, Any]) -> Any:
    """Something JSON can hold; arrays go to `arrays`."""
    if isinstance(value, ByLabel) or callable(value):
        raise ValueError(f"{place.split('.')[1]} is a function and cannot be saved; give a table instead")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value).__name__ in _KINDS:
        parts = {
            field.name: _packed(getattr(value, field.name), f"{place}.{field.name}", arrays)
            for field in fields(value)
        }
        return {"kind": type(value).__name__, "parts": parts}
    if isinstance(value, dict):
        items = [[key, _packed(one, f"{place}.{i}", arrays)] for i, (key, one) in enumerate(value.items())]
        return {"kind": "dict", "items": items}
    if isinstance(value, tuple):
        return {"kind": "tuple", "items": list(value)}
    arrays[place] = np.asarray(value)
    return {"kind": "array", "at": place}


def _unpacked(value: Any, arrays: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "array":
        return arrays[value["at"]]
    if kind == "tuple":
        return tuple(value["items"])
    if kind == "dict":
        return {key: _unpacked(one, arrays) for key, one in value["items"]}
    return _KINDS[kind](**{name: _unpacked(one, arrays) for name, one in value["parts"].items()})
