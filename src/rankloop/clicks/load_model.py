"""Saved click models."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from rankloop import _archive
from rankloop._names import unknown
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.fitting.parameters import ByFeatures, ByGrade, ByLabel, ByPair, Constant

__all__ = ["load_model", "save"]

_KIND = "click model"
_PARAMETERS = {kind.__name__: kind for kind in (ByFeatures, ByGrade, ByPair, Constant)}


def load_model(path: str | Path, *, largest: int | None = None) -> ClickModel:
    """Read a model that `ClickModel.save` wrote.

    A file that unpacks to more than `largest` bytes is refused, by default 200 times its size or 64 MB.

    >>> import tempfile
    >>> from rankloop.clicks import PBM
    >>> path = Path(tempfile.mkdtemp()) / "user.model"
    >>> PBM(examination=[1.0, 0.5], attraction=[0.1, 0.9]).save(path)
    >>> load_model(path).click_probability([1, 1])
    array([0.9 , 0.45])
    """
    import rankloop.clicks as family

    about, arrays = _archive.read(path, _KIND, again="fit the model again and save it", largest=largest)
    kind = getattr(family, about["model"], None)
    if not (isinstance(kind, type) and issubclass(kind, ClickModel)):
        raise unknown(_KIND, about["model"], family.__all__)
    model: ClickModel = kind(**{name: _unpacked(it, arrays) for name, it in about["options"].items()})
    if about["learned"] is not None:
        model.learned_ = {name: _unpacked(it, arrays) for name, it in about["learned"].items()}
        model.history_ = np.asarray(arrays["history"])
        if about.get("strength"):
            model.strength_ = about["strength"]
    return model


def save(model: ClickModel, path: str | Path) -> None:
    """Write a model, given or fitted; parameters that are functions cannot be saved."""
    arrays: dict[str, Any] = {}
    options = {field.name: getattr(model, field.name) for field in fields(model)}
    learned = model.__dict__.get("learned_")
    about = {
        "strength": model.__dict__.get("strength_"),
        "model": type(model).__name__,
        "options": {name: _packed(value, f"options.{name}", arrays) for name, value in options.items()},
        "learned": None
        if learned is None
        else {name: _packed(value, f"learned.{name}", arrays) for name, value in learned.items()},
    }
    if learned is not None:
        arrays["history"] = model.history_
    _archive.write(path, _KIND, about, arrays)


def _packed(value: Any, place: str, arrays: dict[str, Any]) -> Any:
    """The value as JSON; its arrays go to `arrays`."""
    if isinstance(value, ByLabel) or callable(value):
        raise ValueError(f"{place.split('.')[1]} is a function and cannot be saved; give a table instead")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if type(value).__name__ in _PARAMETERS:
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
    return _PARAMETERS[kind](**{name: _unpacked(one, arrays) for name, one in value["parts"].items()})
