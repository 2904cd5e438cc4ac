"""CatBoost's JSON, checked: CatBoost itself trusts every index and size in it, and in its binary form."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Floats

__all__ = ["CheckedModel", "check_catboost"]

_DEEPEST, _NESTED = 16, 512  # levels of a symmetric tree, and of another
_BORDERS = 65_535  # of a feature
_LARGEST = 3.4028234663852886e38  # of single precision
_FLOAT = ("borders", "feature_index", "flat_feature_index", "has_nans", "nan_value_treatment")
_CATEGORY = ("feature_index", "flat_feature_index")
_STATISTIC = (
    *("borders", "ctr_type", "elements", "identifier", "prior_denomerator", "prior_numerator"),
    *("scale", "shift", "target_border_idx"),
)
_TABLE = ("counter_denominator", "hash_map", "hash_stride")
_SPLITS = {
    "FloatFeature": ("float_feature_index", "border"),
    "OneHotFeature": ("cat_feature_index", "value"),
    "OnlineCtr": ("ctr_target_border_idx", "border"),
}
# Columns of a table of statistics, if that is always the same number.
_COLUMNS = {"Borders": 0, "Buckets": 0, "BinarizedTargetMeanValue": 3, "Counter": 2, "FeatureFreq": 2}

Split = tuple[str, int, float]  # kind, feature (or border of the target), border or category


class CheckedModel(NamedTuple):
    """The JSON of a model as it was understood, and its doubles: CatBoost reads those of JSON inexactly."""

    text: str
    leaves: Floats  # in the order of `set_leaf_values` after the JSON was loaded
    scale: float
    bias: float


def check_catboost(text: str) -> CheckedModel:
    """The JSON with what it must have and nothing else, or an error that says what is wrong.

    >>> check_catboost('{"oblivious_trees": [], "scale_and_bias": [1, [0]], "features_info": {}}')
    Traceback (most recent call last):
    ValueError: this CatBoost model is damaged: it has no trees; save it again
    """
    try:
        return _checked(json.loads(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"this CatBoost model is cut short or damaged ({error}); save it again") from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"this CatBoost model is damaged ({error!r}); save it again") from None


def _checked(model: dict[str, Any]) -> CheckedModel:
    scale, bias = model["scale_and_bias"]
    _wanted(
        _is_number(scale) and len(bias) == 1 and _is_number(bias[0]), "it does not give one score per row"
    )
    floats = list(_floats(model["features_info"].get("float_features") or []))
    categories = list(_categories(model["features_info"].get("categorical_features") or []))
    flat = [one["flat_feature_index"] for one in (*floats, *categories)]
    _wanted(sorted(flat) == list(range(len(flat))), "its features are not numbered from 0 on")
    info: dict[str, Any] = {"float_features": floats, "categorical_features": categories}
    sound = {"features_info": info, "scale_and_bias": [scale, bias]}
    if model["features_info"].get("ctrs"):
        tables = model["ctr_data"]
        info["ctrs"] = list(_statistics(model["features_info"]["ctrs"], tables, floats, categories))
        sound["ctr_data"] = {one["identifier"]: tables[one["identifier"]] for one in info["ctrs"]}
    splits = list(_every_split(info))
    name = "oblivious_trees" if "oblivious_trees" in model else "trees"
    read = _symmetric if name == "oblivious_trees" else _nested
    _wanted(isinstance(model[name], list) and len(model[name]) > 0, "it has no trees")
    leaves: list[float] = []
    sound[name] = [read(tree, splits, leaves) for tree in model[name]]
    return CheckedModel(json.dumps(sound), np.array(leaves, np.float64), float(scale), float(bias[0]))


def _floats(features: list[Any]) -> Iterator[dict[str, Any]]:
    for at, one in enumerate(features):
        _wanted(one["feature_index"] == at and _is_whole(one["flat_feature_index"]), "features out of order")
        _wanted(isinstance(one["has_nans"], bool), "a feature has no has_nans")
        _wanted(one["nan_value_treatment"] in ("AsIs", "AsFalse", "AsTrue"), "missing values")
        _check_borders(one["borders"])
        yield {name: one[name] for name in _FLOAT} | {"feature_id": ""}


def _categories(features: list[Any]) -> Iterator[dict[str, Any]]:
    for at, one in enumerate(features):
        _wanted(one["feature_index"] == at and _is_whole(one["flat_feature_index"]), "features out of order")
        kept = {name: one[name] for name in _CATEGORY} | {"feature_id": ""}
        if "values" in one:
            _wanted(all(_is_category(value) for value in one["values"]), "a category is out of range")
            kept["values"] = one["values"]
        yield kept


def _check_borders(borders: Any) -> None:
    sound = isinstance(borders, list) and len(borders) <= _BORDERS and all(map(_is_single, borders))
    _wanted(sound and all(np.diff(np.array(borders, np.float32)) > 0), "borders are not in order")


def _statistics(
    given: list[Any], tables: Mapping[str, Any], floats: list[Any], categories: list[Any]
) -> Iterator[dict[str, Any]]:
    """Features made of statistics of the labels by category, whose tables are looked up by a hash."""
    checked = dict[str, int]()
    for one in given:
        _check_borders(one["borders"])
        for name in ("prior_denomerator", "prior_numerator", "scale", "shift"):
            _wanted(_is_single(one[name]), f"a statistic has no {name}")
        for element in one["elements"]:
            _check_element(element, floats, categories)
        named, kind = one["identifier"], one["ctr_type"]
        parsed = json.loads(named)
        alike = parsed["type"] == kind and _rounded(parsed["identifier"]) == _rounded(one["elements"])
        _wanted(alike and len(one["elements"]) > 0, "the name of a statistic is not what it is made of")
        if named not in checked:
            checked[named] = _check_table(tables[named], kind)
        classes = checked[named] - 1
        most = {"Borders": classes - 1, "Buckets": classes}.get(kind, 1)
        _wanted(_is_whole(one["target_border_idx"], most), "a statistic of a class that is not there")
        yield {name: one[name] for name in _STATISTIC}


def _check_element(element: dict[str, Any], floats: list[Any], categories: list[Any]) -> None:
    kind = element["combination_element"]
    if kind == "float_feature":
        wanted = {"border", "combination_element", "float_feature_index"}
        _wanted(_is_whole(element["float_feature_index"], len(floats)), "a feature that is not there")
        borders = [_single(one) for one in floats[element["float_feature_index"]]["borders"]]
        _wanted(_single(element["border"]) in borders, "another border")
    else:
        wanted = {"cat_feature_index", "combination_element"}
        _wanted(kind in ("cat_feature_value", "cat_feature_exact_value"), "an unknown part of a statistic")
        _wanted(_is_whole(element["cat_feature_index"], len(categories)), "a feature that is not there")
        if kind == "cat_feature_exact_value":
            wanted.add("value")
            known = categories[element["cat_feature_index"]].get("values", ())
            _wanted(_is_category(element["value"]) and element["value"] in known, "another category")
    _wanted(set(element) == wanted, "a statistic of more than features")


def _check_table(table: dict[str, Any], kind: str) -> int:
    """The columns of a table: a hash, and counts (or a sum and a count)."""
    _wanted(
        set(table) == set(_TABLE) and kind in _COLUMNS, f"an unknown kind of statistics, {str(kind)[:40]}"
    )
    columns, cells = table["hash_stride"], table["hash_map"]
    fits = columns == _COLUMNS[kind] if _COLUMNS[kind] else _is_whole(columns, 1 << 16) and columns > 2
    _wanted(fits, "a table has other columns")
    _wanted(isinstance(cells, list) and len(cells) > 0 and len(cells) % columns == 0, "a table is cut short")
    _wanted(_is_whole(table["counter_denominator"], 1 << 31), "a count is out of range")
    hashes = cells[::columns]
    _wanted(all(isinstance(one, str) and one.isdecimal() and len(one) <= 20 for one in hashes), "a hash")
    _wanted(all(int(one) < 1 << 64 for one in hashes) and len(set(hashes)) == len(hashes), "a hash")
    for column in range(1, columns):
        counts = cells[column::columns]
        whole = kind != "BinarizedTargetMeanValue" or column == 2
        fits = all(_is_whole(one, 1 << 31) if whole else _is_single(one) for one in counts)
        _wanted(fits, "a count is out of range")
    return int(columns)


def _every_split(info: dict[str, Any]) -> Iterator[Split]:
    """All splits in the order of their numbers: floats, categories, statistics."""
    for one in info["float_features"]:
        for border in one["borders"]:
            yield "FloatFeature", one["feature_index"], _single(border)
    for one in info["categorical_features"]:
        for value in one.get("values", ()):
            yield "OneHotFeature", one["feature_index"], value
    for one in info.get("ctrs", ()):
        for border in one["borders"]:
            yield "OnlineCtr", one["target_border_idx"], _single(border)


def _split(given: dict[str, Any], splits: list[Split]) -> dict[str, Any]:
    """A split of a tree, which must be the one that its number names."""
    kind, at = given["split_type"], given["split_index"]
    _wanted(kind in _SPLITS, f"an unknown kind of split, {str(kind)[:40]}")
    feature, value = (given[name] for name in _SPLITS[kind])
    found = _is_whole(at, len(splits)) and _is_whole(feature) and _is_number(value)
    rounded = value if kind == "OneHotFeature" else _single(value)
    _wanted(found and (kind, feature, rounded) == splits[at], "a split of a feature that is not there")
    return {name: given[name] for name in (*_SPLITS[kind], "split_index", "split_type")}


def _symmetric(tree: dict[str, Any], splits: list[Split], leaves: list[float]) -> dict[str, Any]:
    levels = [_split(one, splits) for one in tree["splits"] or []]
    _wanted(len(levels) <= _DEEPEST, f"a tree has more than {_DEEPEST} levels")
    for name in ("leaf_values", "leaf_weights"):
        sound = len(tree[name]) == 1 << len(levels) and all(map(_is_number, tree[name]))
        _wanted(sound, f"{name} of a tree are not those of its leaves")
    leaves += tree["leaf_values"]
    return {"leaf_values": tree["leaf_values"], "leaf_weights": tree["leaf_weights"], "splits": levels}


def _nested(tree: dict[str, Any], splits: list[Split], leaves: list[float]) -> dict[str, Any]:
    """A tree of nodes within nodes; its leaves are numbered from the left."""
    whole: dict[str, Any] = {}
    ends = [(tree, whole, 0)]
    while ends:
        part, kept, level = ends.pop()
        _wanted(level < _NESTED, f"a tree has more than {_NESTED} levels")
        if "split" in part:
            kept |= {"left": {}, "right": {}, "split": _split(part["split"], splits)}
            ends += [(part[side], kept[side], level + 1) for side in ("right", "left")]
        else:
            _wanted(_is_number(part["value"]) and _is_number(part["weight"]), "a leaf has no value")
            kept |= {"value": part["value"], "weight": part["weight"]}
            leaves.append(part["value"])
    return whole


def _rounded(elements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Borders to single precision: CatBoost writes them twice, with more and with fewer digits."""
    return [one | {"border": _single(one["border"])} if "border" in one else one for one in elements]


def _is_whole(value: Any, below: int = 1 << 31) -> bool:
    return type(value) is int and 0 <= value < below


def _is_category(value: Any) -> bool:
    return type(value) is int and -(1 << 31) <= value < 1 << 31


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_single(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST


def _single(value: Any) -> float:
    """A number in single precision; nan, which equals nothing, for what has none."""
    return float(np.float32(value)) if _is_single(value) else math.nan


def _wanted(true: Any, otherwise: str) -> None:
    if not true:
        raise ValueError(f"this CatBoost model is damaged: {otherwise}; save it again")
