"""Forests as ONNX: one operator holds all trees."""

from typing import Any

import numpy as np

from rankloop._arrays import Array, Floats, Ints
from rankloop.rankers.trees.decisions import below, missing_left
from rankloop.rankers.trees.trees import CATEGORY, ZERO, Trees

__all__ = ["forest_to_onnx"]

_SINCE_2020 = {"": 17, "ai.onnx.ml": 3}  # onnxruntime reads these since 1.12
_SINCE_2024 = {"": 17, "ai.onnx.ml": 5}  # and these, which know categories, since 1.20
_LEQ, _MEMBER = 0, 6


def forest_to_onnx(onnx: Any, trees: Trees) -> tuple[list[Any], list[Any], dict[str, int]]:
    """Nodes from `X` to `score`, their constants, and the versions of the operators."""
    if trees.lines is not None:
        raise ValueError(
            "ONNX cannot compute linear leaves; train with linear_tree=False, learn from clicks with "
            "exportable=True (--exportable), or rank with rankloop"
        )
    if (trees.rule & ZERO).any():
        raise ValueError(
            "ONNX's trees cannot treat zeros as missing; train without that, or score with rankloop"
        )
    make = onnx.helper.make_node
    flat = [make("Squeeze", ["column", "axis"], ["sum"]), make("Add", ["sum", "bias"], ["score"])]
    constants = [
        onnx.numpy_helper.from_array(np.array([1]), "axis"),
        onnx.numpy_helper.from_array(np.array(trees.bias, np.float32), "bias"),
    ]
    if (trees.rule & CATEGORY).any():
        return [_with_categories(onnx, trees), *flat], constants, _SINCE_2024
    return [_regressor(onnx, trees), *flat], constants, _SINCE_2020


def _regressor(onnx: Any, trees: Trees) -> Any:
    """The nodes of a tree, then its leaves."""
    count = trees.nodes
    size = 2 * count + 1
    first = np.cumsum(size) - size
    tree = np.repeat(np.arange(len(count)), count)
    at = first[tree] + np.arange(len(tree)) - np.repeat(np.cumsum(count) - count, count)
    leaf_tree = np.repeat(np.arange(len(count)), count + 1)
    leaf_id = np.arange(len(leaf_tree)) - np.repeat(np.cumsum(count + 1) - count - 1, count + 1)
    leaf_id = leaf_id + count[leaf_tree]

    def column(fill: Any, values: Any) -> Array:
        whole = np.full(size.sum(), fill)
        whole[at] = values
        return whole

    def child(side: Ints) -> Array:
        return column(0, np.where(side < 0, count[tree] + ~side, side))

    return onnx.helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["column"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        nodes_treeids=np.repeat(np.arange(len(count)), size).tolist(),
        nodes_nodeids=(np.arange(size.sum()) - np.repeat(first, size)).tolist(),
        nodes_modes=np.where(column(0, 1), "BRANCH_LEQ", "LEAF").tolist(),
        nodes_featureids=column(0, trees.feature).tolist(),
        nodes_values=column(0.0, below(trees.threshold)).tolist(),
        nodes_truenodeids=child(trees.left).tolist(),
        nodes_falsenodeids=child(trees.right).tolist(),
        nodes_missing_value_tracks_true=column(0, missing_left(trees)).tolist(),
        target_treeids=leaf_tree.tolist(),
        target_nodeids=leaf_id.tolist(),
        target_ids=np.zeros(len(leaf_id), int).tolist(),
        target_weights=(trees.value / trees.divisor).tolist(),
    )


def _with_categories(onnx: Any, trees: Trees) -> Any:
    """All nodes in one array, all leaves in another; a tree of one leaf gets a node that leads to it."""
    alone = trees.nodes == 0
    count = np.maximum(trees.nodes, 1)
    first, leaf = np.cumsum(count) - count, np.cumsum(trees.nodes + 1) - trees.nodes - 1
    real = np.repeat(~alone, count)
    tree = np.repeat(np.arange(len(count)), count)[real]

    def column(values: Any, fill: Any = 0) -> Array:
        whole = np.full(len(real), fill, np.asarray(values).dtype)
        whole[real] = values
        return whole

    def child(side: Ints) -> tuple[list[int], list[int]]:
        """Whether it is a leaf, and its number among the leaves or the nodes."""
        to = column(np.where(side < 0, leaf[tree] + ~side, first[tree] + side))
        ends = column((side < 0).astype(np.int64), 1)
        to[~real] = leaf[alone]
        return ends.tolist(), to.tolist()

    categorical = trees.rule & CATEGORY != 0
    members: list[Floats] = [np.zeros(0)]
    for which in trees.threshold[categorical].astype(int):
        members += [trees.sets[which].astype(np.float64), np.array([np.nan])]
    left_ends, left = child(trees.left)
    right_ends, right = child(trees.right)
    tensor = onnx.numpy_helper.from_array
    return onnx.helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["column"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=1,
        tree_roots=first.tolist(),
        nodes_featureids=column(trees.feature).tolist(),
        nodes_modes=tensor(column(np.where(categorical, _MEMBER, _LEQ)).astype(np.uint8)),
        nodes_splits=tensor(column(np.where(categorical, 0.0, below(trees.threshold))).astype(np.float32)),
        nodes_trueleafs=left_ends,
        nodes_truenodeids=left,
        nodes_falseleafs=right_ends,
        nodes_falsenodeids=right,
        nodes_missing_value_tracks_true=column(missing_left(trees).astype(np.int64)).tolist(),
        membership_values=tensor(np.concatenate(members).astype(np.float32)),
        leaf_targetids=np.zeros(len(trees.value), int).tolist(),
        leaf_weights=tensor((trees.value / trees.divisor).astype(np.float32)),
    )
