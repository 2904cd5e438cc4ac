"""What `train`, `predict` and `tune` share: configurations, rankers by name, data of the right width."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.data import RankingDataset
    from rankloop.rankers import Ranker

__all__ = ["MODEL", "as_toml", "chosen_ranker", "data_facts", "model_file", "read_config", "setting"]

MODEL = "model.rank"  # as `rankloop.load` finds it in a run folder
_KEYS = ("data", "metrics", "out", "ranker", "space", "test", "valid")


def read_config(path: Path | None) -> dict[str, Any]:
    """The tables and keys of a TOML file for `train` and `tune`; unknown keys are an error."""
    from rankloop._names import unknown

    if path is None:
        return {}
    if not path.is_file():
        raise FileNotFoundError(f"there is no configuration file {path}")
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    for key in config:
        if key not in _KEYS:
            raise unknown(f"key in {path}", key, _KEYS)
    return config


def setting(text: str) -> tuple[str, Any]:
    """`key=value` with the value as TOML reads it, or else as text.

    >>> setting("trees=500"), setting("loss=lambdarank"), setting("weights=[1, 0.5]")
    (('trees', 500), ('loss', 'lambdarank'), ('weights', [1, 0.5]))
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key or not value:
        raise ValueError(f"a setting is written key=value, got {text!r}")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return key, value


def chosen_ranker(
    config: Mapping[str, Any], name: str | None, changed: Sequence[str]
) -> tuple["Ranker", dict[str, Any]]:
    """The ranker of the configuration and the flags, and its table for the next configuration."""
    table = {"name": "lambdamart", **config.get("ranker", {})}
    if name is not None:
        table["name"] = name
    table |= dict(setting(text) for text in changed)
    return _make_ranker(table["name"], {key: value for key, value in table.items() if key != "name"}), table


def _make_ranker(name: str, settings: Mapping[str, Any]) -> "Ranker":
    """A ranker by its class name in any case, with or without "Ranker" at its end."""
    from rankloop import rankers
    from rankloop._names import unknown
    from rankloop.rankers.base.parameters import unknown_parameter

    classes = {found.lower().removesuffix("ranker"): found for found in rankers.__all__ if found[0].isupper()}
    word = str(name).lower().replace("_", "").replace("-", "").removesuffix("ranker")
    if word not in classes or not _learns_alone(getattr(rankers, classes[word])):
        offered = [one for one, found in classes.items() if _learns_alone(getattr(rankers, found))]
        raise unknown("ranker", name, offered)
    made: Ranker = getattr(rankers, classes[word])()
    parameters = made.get_params(deep=False)
    for key in settings:
        if key not in parameters:
            raise unknown_parameter(classes[word], key, parameters)
    return made.set_params(**settings)


def _learns_alone(found: Any) -> bool:
    """Whether a member of the family is a ranker that learns from a data set, and not from other rankers."""
    from rankloop.rankers import Ranker
    from rankloop.rankers.base.parts import RankerOfRankers

    if not (isinstance(found, type) and issubclass(found, Ranker)) or found is Ranker:
        return False
    return not issubclass(found, RankerOfRankers) and found.__name__ != "Calibrated"


def model_file(path: str | Path) -> Path:
    """The file of a ranker that is given itself or by its run folder."""
    given = Path(path)
    if (given / MODEL).is_file():
        return given / MODEL
    if (given / "search.rank").is_file():
        raise ValueError(
            f"{given} holds a pipeline that was trained on an index, not a ranker of data sets; use it with "
            f"rankloop search INDEX QUERY --pipeline {given}"
        )
    return given


def data_facts(path: str, data: "RankingDataset") -> dict[str, Any]:
    """The facts about a data set that a run folder keeps."""
    return {
        "path": path,
        "fingerprint": data.fingerprint(),
        "queries": data.n_queries,
        "documents": data.n_documents,
        "features": data.n_features,
    }


def as_toml(values: Mapping[str, Any]) -> str:
    """Plain values and tables of them as TOML; None is left out, as TOML has no such value.

    >>> print(as_toml({"data": "a.txt", "ranker": {"name": "linear", "l2": 0.1, "valid": None}}), end="")
    data = "a.txt"
    <BLANKLINE>
    [ranker]
    name = "linear"
    l2 = 0.1
    """
    lines = [
        f"{key} = {_written(value)}"
        for key, value in values.items()
        if value is not None and not isinstance(value, Mapping)
    ]
    for key, table in values.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{key}]"]
            lines += [f"{name} = {_written(value)}" for name, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    import json

    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
