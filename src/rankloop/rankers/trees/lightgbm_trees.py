"""Trees of a LightGBM model, from its text."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rankloop._arrays import Array, Floats, Ints
from rankloop.rankers.trees.trees import CATEGORY, LEFT, NAN, ZERO, Lines, Trees

__all__ = ["read_lightgbm"]

_SMALL = float(np.float32(1e-35))  # LightGBM treats values up to this size as zero
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
        kind = _numbers(tree["decision_type"], leaves - 1).astype(np.int64)
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
    whole: dict[str, Any] = {
        name: np.concatenate([np.empty(0), *found]).astype(
            np.float64 if name in ("threshold", "value") else np.int64
        )
        for name, found in columns.items()
    }
    return Trees(
        **whole,
        nodes=np.array(nodes, np.int64),
        n_features=int(header["max_feature_idx"]) + 1,
        sets=sets,
        zero=_SMALL,
        divisor=float(len(parts)) if "\naverage_output" in head else 1.0,
        lines=_lines(trees) if any(tree.get("is_linear", "0") != "0" for tree in trees) else None,
    )


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
