"""Trees of a LightGBM model, from its text."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rankloop._arrays import Array, Floats, Ints
from rankloop.rankers.trees.trees import CATEGORY, LEFT, NAN, ZERO, Lines, Trees

__all__ = ["check_lightgbm", "read_lightgbm"]

_SMALL = float(np.float32(1e-35))  # LightGBM treats values up to this size as zero
_OF_NODES = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
_OF_LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
_MISSING = {0: 0, 1: ZERO, 2: NAN}


def read_lightgbm(text: str) -> Trees:
    """The trees in `Booster.model_to_string()`; raw scores of one output."""
    head, *parts = text.split("\nTree=")
    header = _fields(head)
    if int(header.get("num_tree_per_iteration", "1")) != 1:
        raise ValueError(
            f"this LightGBM model gives {header['num_tree_per_iteration']} scores per row; a ranker gives one"
        )
    if not parts or "\nend of trees" not in text:
        raise ValueError("this LightGBM model has no trees or is cut short; save it again")
    columns: dict[str, list[Array]] = {
        name: [] for name in ("feature", "threshold", "rule", "left", "right", "value")
    }
    sets: list[Ints] = []
    nodes = []
    trees = [_fields(part) for part in parts]
    for tree in trees:
        leaves = int(tree["num_leaves"])
        nodes.append(leaves - 1)
        columns["value"].append(_numbers(tree["leaf_value"], leaves))
        if leaves == 1:
            continue
        kind = _whole_numbers(_numbers(tree["decision_type"], leaves - 1))
        threshold = _numbers(tree["threshold"], leaves - 1)
        missing = np.array([_MISSING[code] for code in (kind >> 2 & 3).tolist()], np.int64)
        rule = np.where(kind & 1, CATEGORY, missing + np.where(kind & 2, LEFT, 0))
        threshold = np.where(kind & 1, threshold + len(sets), threshold)
        sets.extend(_sets(tree))
        columns["feature"].append(_numbers(tree["split_feature"], leaves - 1))
        columns["threshold"].append(threshold)
        columns["rule"].append(rule)
        columns["left"].append(_numbers(tree["left_child"], leaves - 1))
        columns["right"].append(_numbers(tree["right_child"], leaves - 1))
    whole: dict[str, Any] = {}
    for name, found in columns.items():
        values = np.concatenate([np.empty(0), *found])
        whole[name] = values if name in ("threshold", "value") else _whole_numbers(values)
    return Trees(
        **whole,
        nodes=np.array(nodes, np.int64),
        n_features=int(header["max_feature_idx"]) + 1,
        sets=sets,
        zero=_SMALL,
        divisor=float(len(parts)) if "\naverage_output" in head else 1.0,
        lines=_lines(trees) if any(tree.get("is_linear", "0") != "0" for tree in trees) else None,
    )


def check_lightgbm(text: str) -> None:
    """Refuse a text that LightGBM itself would read beyond its end: it trusts sizes and children."""
    from rankloop.rankers.trees.compile_forest import read_trees
    from rankloop.rankers.trees.packing import checked, pack

    checked(pack(read_trees(text)))
    head, *parts = text.split("\nTree=")
    header = _fields(head)
    features = int(header["max_feature_idx"]) + 1
    named = [len(header.get(name, "").split()) for name in ("feature_names", "feature_infos")]
    sound = named == [features, features] and header.get("num_class") == "1"
    whole = text.encode()
    starts = [found.start() + 1 for found in re.finditer(rb"\nTree=", whole)]
    ends = [*starts[1:], whole.index(b"\nend of trees") + 1]
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    sound &= header.get("tree_sizes", "").split() == [str(size) for size in sizes]
    for part in parts:
        tree = _fields(part)
        leaves = int(tree["num_leaves"])
        sound &= 0 < leaves < 1 << 17
        for name in _OF_NODES if leaves > 1 else ():
            _numbers(tree[name], leaves - 1)
        for name in _OF_LEAVES if leaves > 1 else ():
            _numbers(tree[name], leaves)
        if int(tree.get("num_cat", "0")):
            bounds = np.array(tree["cat_boundaries"].split(), np.int64)
            sound &= len(bounds) == int(tree["num_cat"]) + 1 and bounds[0] == 0
            sound &= bool((np.diff(bounds) >= 0).all()) and bounds[-1] == len(tree["cat_threshold"].split())
    if not sound:
        raise ValueError("this LightGBM model is damaged: its sizes do not fit; save it again")


def _whole_numbers(values: Floats) -> Ints:
    if not (np.isfinite(values).all() and (np.abs(values) < 2**31).all()):
        raise ValueError("this LightGBM model is damaged: a child or feature is out of range; save it again")
    return values.astype(np.int64)


def _fields(part: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in part.split("\n") if "=" in line)


def _numbers(text: str, count: int) -> Floats:
    found = np.array(text.split(), np.float64)
    if len(found) != count:
        raise ValueError(
            f"this LightGBM model is damaged: a tree has {len(found)} values in place of {count}"
        )
    return found


def _lines(trees: list[dict[str, str]]) -> Lines:
    constant, terms, feature, coefficient = ([np.empty(0)] for _ in range(4))
    for tree in trees:
        leaves = int(tree["num_leaves"])
        if tree.get("is_linear", "0") == "0":
            constant.append(_numbers(tree["leaf_value"], leaves))
            terms.append(np.zeros(leaves))
            continue
        constant.append(_numbers(tree["leaf_const"], leaves))
        terms.append(_numbers(tree["num_features"], leaves))
        feature.append(_numbers(tree["leaf_features"], int(terms[-1].sum())))
        coefficient.append(_numbers(tree["leaf_coeff"], int(terms[-1].sum())))
    return Lines(
        np.concatenate(constant),
        np.concatenate(terms).astype(np.int64),
        np.concatenate(feature).astype(np.int64),
        np.concatenate(coefficient),
    )


def _sets(tree: dict[str, str]) -> Iterator[Ints]:
    """The categories that go left, of each categorical node: bits of 32-bit words."""
    if tree.get("num_cat", "0") == "0":
        return
    bounds = np.array(tree["cat_boundaries"].split(), np.int64)
    words = np.array(tree["cat_threshold"].split(), np.uint32)
    for start, stop in pairwise(bounds.tolist()):
        bits = np.unpackbits(words[start:stop].astype("<u4").view(np.uint8), bitorder="little")
        yield np.flatnonzero(bits).astype(np.int64)
