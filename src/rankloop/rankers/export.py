"""Rankers for other runtimes: ONNX."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._atomic import replacing
from rankloop._extras import require
from rankloop.rankers._linear import LinearScores
from rankloop.rankers._trees import CATEGORY, LEFT, NAN, ZERO, Trees
from rankloop.rankers.base import Ranker
from rankloop.rankers.compiled import read_trees

__all__ = ["to_onnx"]

_OPSETS = {"": 17, "ai.onnx.ml": 3}  # onnxruntime reads these since 1.12


def to_onnx(ranker: Ranker | str, path: str | Path | None = None) -> bytes:
    """The ranker as an ONNX model: `X` float32 rows × features in, `score` float32, one per row, out.

    The text of a model (see `compile_forest`) will do as well.

    Forests of LightGBM or XGBoost, weighted sums, and networks that score documents one by one can be
    exported. Decisions in the trees are exactly those of the ranker (thresholds are rounded down to float32);
    sums are float32, as ONNX has them.

    >>> from rankloop.rankers import RankSVM
    >>> ranker = RankSVM().fit([[1.0, 0.0], [0.0, 1.0]], [1, 0], qid=[0, 0])
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(to_onnx(ranker))
    >>> (score,) = session.run(None, {"X": np.eye(2, dtype=np.float32)})
    >>> bool(np.allclose(score, ranker.predict(np.eye(2))))
    True
    """
    onnx = require("onnx", "engines")
    names = None if isinstance(ranker, str) else getattr(ranker, "feature_names_in_", None)
    model = _model(onnx, ranker)
    if names is not None:
        onnx.helper.set_model_props(model, {"features": "\n".join(names.tolist())})
    onnx.checker.check_model(model)
    whole: bytes = model.SerializeToString()
    if path is not None:
        with replacing(path) as beside:
            beside.write_bytes(whole)
    return whole


def _model(onnx: Any, ranker: Ranker | str) -> Any:
    text = ranker if isinstance(ranker, str) else _text(ranker)
    if text is not None:
        trees = read_trees(text)
        return _graph(onnx, _forest(onnx, trees), [], trees.n_features)
    if isinstance(ranker, LinearScores):
        return _graph(onnx, *_weighted_sum(onnx, ranker), ranker.n_features_in_)
    if hasattr(ranker, "module_"):
        from rankloop.rankers._onnx_network import network_to_onnx

        return network_to_onnx(ranker)
    raise ValueError(
        f"{type(ranker).__name__} has no ONNX form here; export a LambdaMART of lightgbm or xgboost, a "
        "linear ranker or a network, or distil this one into such a ranker"
    )


def _graph(onnx: Any, nodes: list[Any], constants: list[Any], n_features: int) -> Any:
    helper, single = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "ranker",
        [helper.make_tensor_value_info("X", single, ["rows", n_features])],
        [helper.make_tensor_value_info("score", single, ["rows"])],
        constants,
    )
    opsets = [helper.make_opsetid(*one) for one in _OPSETS.items()]
    model = helper.make_model(graph, producer_name="rankloop", opset_imports=opsets)
    model.ir_version = 8
    return model


def _text(ranker: Ranker) -> str | None:
    ranker._check_fitted()
    text = getattr(getattr(ranker, "forest_", None), "text", None)
    return text if isinstance(text, str) else None


def _weighted_sum(onnx: Any, ranker: LinearScores) -> tuple[list[Any], list[Any]]:
    """A missing value counts as the mean, that is 0 after standardising."""
    make = onnx.helper.make_node
    constants = {
        "mean": ranker.mean_,
        "scale": ranker.scale_,
        "coef": ranker.coef_,
        "nothing": np.zeros(1),
        "intercept": ranker.intercept_,
    }
    nodes = [
        make("Sub", ["X", "mean"], ["centred"]),
        make("Div", ["centred", "scale"], ["scaled"]),
        make("IsNaN", ["scaled"], ["missing"]),
        make("Where", ["missing", "nothing", "scaled"], ["filled"]),
        make("MatMul", ["filled", "coef"], ["sum"]),
        make("Add", ["sum", "intercept"], ["score"]),
    ]
    return nodes, [
        onnx.numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()
    ]


def _forest(onnx: Any, trees: Trees) -> list[Any]:
    """One TreeEnsembleRegressor: the nodes of a tree, then its leaves."""
    if (trees.rule & (CATEGORY | ZERO)).any():
        what = "categorical splits" if (trees.rule & CATEGORY).any() else "zeros that count as missing"
        raise ValueError(f"ONNX's trees have no {what}; train without them, or serve with rankloop itself")
    count = trees.nodes
    size = 2 * count + 1
    first = np.cumsum(size) - size
    tree = np.repeat(np.arange(len(count)), count)
    at = first[tree] + np.arange(len(tree)) - np.repeat(np.cumsum(count) - count, count)
    leaf_tree = np.repeat(np.arange(len(count)), count + 1)
    leaf_id = np.arange(len(leaf_tree)) - np.repeat(np.cumsum(count + 1) - count - 1, count + 1)
    leaf_id = leaf_id + count[leaf_tree]

    def column(fill: Any, values: Any) -> NDArray[Any]:
        whole = np.full(size.sum(), fill)
        whole[at] = values
        return whole

    def child(side: NDArray[np.int64]) -> NDArray[Any]:
        return column(0, np.where(side < 0, count[tree] + ~side, side))

    missing_left = np.where(trees.rule & NAN, trees.rule & LEFT != 0, trees.threshold >= 0)
    made = onnx.helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["column"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        base_values=[trees.bias],
        nodes_treeids=np.repeat(np.arange(len(count)), size).tolist(),
        nodes_nodeids=(np.arange(size.sum()) - np.repeat(first, size)).tolist(),
        nodes_modes=np.where(column(0, 1), "BRANCH_LEQ", "LEAF").tolist(),
        nodes_featureids=column(0, trees.feature).tolist(),
        nodes_values=column(0.0, _below(trees.threshold)).tolist(),
        nodes_truenodeids=child(trees.left).tolist(),
        nodes_falsenodeids=child(trees.right).tolist(),
        nodes_missing_value_tracks_true=column(0, missing_left).tolist(),
        target_treeids=leaf_tree.tolist(),
        target_nodeids=leaf_id.tolist(),
        target_ids=np.zeros(len(leaf_id), int).tolist(),
        target_weights=(trees.value / trees.divisor).tolist(),
    )
    flat = onnx.helper.make_node("Squeeze", ["column", "axis"], ["score"])
    axis = onnx.helper.make_node("Constant", [], ["axis"], value_ints=[1])
    return [made, axis, flat]


def _below(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above: a float32 value is on the same side of both."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    down = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > threshold, down, single)
