"""Rankers as ONNX models, for other runtimes."""

from pathlib import Path
from typing import Any

import numpy as np

from rankloop._atomic import replacing
from rankloop._extras import require
from rankloop.rankers.base.linear_scores import LinearScores
from rankloop.rankers.base.ranker import Ranker
from rankloop.rankers.export.model_text import model_text
from rankloop.rankers.trees.compile_forest import read_trees
from rankloop.rankers.trees.onnx import forest_to_onnx

__all__ = ["to_onnx"]

_PLAIN = {"": 17}


def to_onnx(ranker: Ranker | str, path: str | Path | None = None, *, int8: bool = False) -> bytes:
    """The ranker as an ONNX model: `X` float32 rows × features in, `score` float32, one per row, out.

    Forests, weighted sums, and networks that score documents one by one can be
    exported, and so can the text of a model (see `compile_forest`). Decisions in the trees are exactly those
    of the ranker (thresholds are rounded down to float32); sums are float32, as in ONNX. Trees with
    categories use the operator `TreeEnsemble` of 2024, others `TreeEnsembleRegressor` for older runtimes.

    A `TextRanker` takes padded tokens of pairs in place of `X` (`input_ids`, `attention_mask`,
    `token_type_ids`); with `int8` its weights take a quarter of the space.

    >>> from rankloop.rankers import RankSVM
    >>> ranker = RankSVM().fit([[1.0, 0.0], [0.0, 1.0]], [1, 0], qid=[0, 0])
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(to_onnx(ranker))
    >>> (score,) = session.run(None, {"X": np.eye(2, dtype=np.float32)})
    >>> bool(np.allclose(score, ranker.predict(np.eye(2))))
    True
    """
    onnx = require("onnx", "trees")
    names = None if isinstance(ranker, str) else getattr(ranker, "feature_names_in_", None)
    if int8 and not getattr(ranker, "reads_text", False):
        raise ValueError("int8 weights are for a TextRanker; leave int8 out")
    model = _model(onnx, ranker, int8)
    if names is not None:
        onnx.helper.set_model_props(model, {"features": "\n".join(names.tolist())})
    onnx.checker.check_model(model)
    whole: bytes = model.SerializeToString()
    if path is not None:
        with replacing(path) as beside:
            beside.write_bytes(whole)
    return whole


def _model(onnx: Any, ranker: Ranker | str, int8: bool) -> Any:
    text = model_text(ranker)
    if text is not None:
        trees = read_trees(text)
        return _graph(onnx, *forest_to_onnx(onnx, trees), trees.n_features)
    if isinstance(ranker, LinearScores):
        return _graph(onnx, *_weighted_sum(onnx, ranker), _PLAIN, ranker.n_features_in_)
    if getattr(ranker, "reads_text", False):
        from rankloop.rankers.text.onnx import cross_encoder_to_onnx

        return cross_encoder_to_onnx(ranker, int8=int8)
    if hasattr(ranker, "module_"):
        from rankloop.rankers.neural.onnx import network_to_onnx

        return network_to_onnx(ranker)
    raise ValueError(
        f"{type(ranker).__name__} has no ONNX form here; export a LambdaMART, a "
        "linear ranker or a network, or distil this one into such a ranker"
    )


def _graph(onnx: Any, nodes: list[Any], constants: list[Any], opsets: dict[str, int], n_features: int) -> Any:
    helper, single = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "ranker",
        [helper.make_tensor_value_info("X", single, ["rows", n_features])],
        [helper.make_tensor_value_info("score", single, ["rows"])],
        constants,
    )
    imports = [helper.make_opsetid(*one) for one in opsets.items()]
    model = helper.make_model(graph, producer_name="rankloop", opset_imports=imports)
    model.ir_version = 8
    return model


def _weighted_sum(onnx: Any, ranker: LinearScores) -> tuple[list[Any], list[Any]]:
    """A missing value becomes 0 after standardising: the mean."""
    make = onnx.helper.make_node
    constants = {
        "mean": ranker.mean_,
        "scale": ranker.scale_,
        "coef": ranker.coef_,
        "zero": np.zeros(1),
        "intercept": ranker.intercept_,
    }
    nodes = [
        make("Sub", ["X", "mean"], ["centred"]),
        make("Div", ["centred", "scale"], ["scaled"]),
        make("IsNaN", ["scaled"], ["missing"]),
        make("Where", ["missing", "zero", "scaled"], ["filled"]),
        make("MatMul", ["filled", "coef"], ["sum"]),
        make("Add", ["sum", "intercept"], ["score"]),
    ]
    return nodes, [
        onnx.numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()
    ]
