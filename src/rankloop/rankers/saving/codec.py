"""Parameters as JSON: plain values, arrays, losses, metrics, rankers and scikit-learn estimators."""

from collections.abc import Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.rankers.base.ranker import Member, Ranker
from rankloop.rankers.saving.estimator import is_from_sklearn, put_together, take_apart

__all__ = ["decode", "encode"]

_BITS = {kind.__name__: kind for kind in (np.random.PCG64, np.random.MT19937, np.random.Philox)}


def encode(value: Any, where: str, members: MutableMapping[str, Member]) -> Any:
    """`value` as JSON; arrays and fitted rankers go to `members` under the name `where`.

    >>> encode({"depth": 3, "shape": (1, 2)}, "parameters/x", {})
    {'$dict': [['depth', 'shape'], [3, {'$tuple': [1, 2]}]]}
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return {"$scalar": value.item(), "type": value.dtype.str}
    if isinstance(value, list):
        return [encode(item, f"{where}.{i}", members) for i, item in enumerate(value)]
    if type(value) is tuple:
        return {"$tuple": encode(list(value), where, members)}
    if type(value) is dict:
        keys = encode(list(value), f"{where}.keys", members)
        return {"$dict": [keys, encode(list(value.values()), where, members)]}
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            items = encode(value.ravel().tolist(), where, members)
            return {"$objects": items, "shape": list(value.shape)}
        members[where] = value
        return {"$array": where}
    if isinstance(value, np.random.RandomState):
        return {"$random": encode(value.get_state(legacy=False), where, members)}
    if isinstance(value, np.random.Generator):
        return {"$generator": encode(value.bit_generator.state, where, members)}
    if isinstance(value, Ranker):
        return {"$ranker": _ranker(value, where, members)}
    family = type(value).__module__.split(".")[:2]
    if family == ["rankloop", "metrics"]:
        rules = value.convention
        return {"$metric": str(value), "convention": None if rules is None else rules.name}
    if family == ["rankloop", "losses"] and is_dataclass(value):
        options = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        return {"$loss": type(value).__name__, "options": encode(options, where, members)}
    if is_from_sklearn(value):
        return {"$sklearn": encode(take_apart(value), where, members)}
    raise ValueError(
        f"{where.replace('/', ' ')} is a {type(value).__name__}, which cannot be saved without pickle; "
        "use plain values, arrays, rankloop's losses, metrics and rankers, or scikit-learn's estimators"
    )


def decode(value: Any, members: Mapping[str, Member]) -> Any:
    """The value that `encode` was given."""
    if isinstance(value, list):
        return [decode(item, members) for item in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), *_ = value.items()
    if kind == "$tuple":
        return tuple(decode(inner, members))
    if kind == "$dict":
        keys, items = decode(inner, members)
        return dict(zip(keys, items, strict=True))
    if kind == "$scalar":
        scalar = np.dtype(value["type"])
        if scalar.kind not in "biufU":
            raise ValueError(f"a saved number has the type {value['type']!r}; save the model again")
        return scalar.type(inner)
    if kind == "$array":
        return members[inner]
    if kind == "$objects":
        objects = np.empty(len(inner), dtype=object)
        objects[:] = decode(inner, members)
        return objects.reshape(value["shape"])
    if kind == "$random":
        random = np.random.RandomState()
        random.set_state(_sound(decode(inner, members)))
        return random
    if kind == "$ranker":
        return _load_ranker(inner, members)
    if kind == "$metric":
        from rankloop.metrics import metric

        return metric(inner, convention=value["convention"])
    if kind == "$loss":
        return _loss(inner, decode(value["options"], members))
    if kind == "$generator":
        state = _sound(decode(inner, members))
        generator = np.random.Generator(_BITS[state["bit_generator"]]())
        generator.bit_generator.state = state
        return generator
    if kind == "$sklearn":
        return put_together(decode(inner, members))
    raise ValueError(f"a saved parameter has the unknown kind {kind!r}; upgrade rankloop")


def _sound(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a random generator, whose compiled code does not check its positions."""
    for place, last in ((state["state"].get("pos", 0), 624), (state.get("buffer_pos", 0), 4)):
        if not 0 <= int(place) <= last:
            raise ValueError("the state of a random generator in this model is damaged; save it again")
    return state


def _ranker(ranker: Ranker, where: str, members: MutableMapping[str, Member]) -> Any:
    """A fitted ranker as an archive within the archive; an unfitted one as class and parameters."""
    from rankloop.rankers.saving.load import dumps

    if ranker.__sklearn_is_fitted__():
        members[where] = dumps(ranker)
        return where
    parameters = {
        name: item for name, item in ranker.get_params(deep=False).items() if name not in ranker._unsaved
    }
    return {"class": type(ranker).__name__, "parameters": encode(parameters, where, members)}


def _load_ranker(inner: Any, members: Mapping[str, Member]) -> Ranker:
    from rankloop.rankers.saving.load import class_named, loads

    if isinstance(inner, str):
        whole = members[inner]
        if not isinstance(whole, bytes):
            raise ValueError("a ranker within this model is damaged; save the model again")
        return loads(whole)
    return class_named(inner["class"])(**decode(inner["parameters"], members))


def _loss(name: str, options: dict[str, Any]) -> Any:
    from rankloop import losses
    from rankloop._names import unknown

    found = getattr(losses, name) if name in losses.__all__ else None
    if not isinstance(found, type):
        raise unknown("loss", name, losses.__all__)
    return found(**options)
