"""Networks as ONNX, traced by torch."""

import io
import warnings
from copy import deepcopy
from typing import Any

import numpy as np

from rankloop._extras import require

__all__ = ["network_to_onnx"]

_OPSET = 17
_ALONE = ("gam", "mlp")


def network_to_onnx(ranker: Any) -> Any:
    """The ONNX model of a network that scores documents one by one."""
    if ranker.scorer not in _ALONE:
        raise ValueError(
            f"the scorer {ranker.scorer!r} scores whole lists, which cannot be exported; "
            f"export one of {' or '.join(_ALONE)}, or distil this ranker into one"
        )
    if ranker.feature_transform == "quantile":
        raise ValueError("ONNX cannot look up quantiles; train with feature_transform='log1p'")
    torch, onnx = require("torch", "neural"), require("onnx", "trees")
    example = torch.from_numpy(np.zeros((2, ranker.n_features_in_), np.float32))
    written = io.BytesIO()
    with warnings.catch_warnings():  # the tracer warns of lengths that the score does not depend on
        warnings.simplefilter("ignore")
        torch.onnx.export(
            deepcopy(ranker.module_).to("cpu").float().eval(),
            (example,),
            written,
            dynamo=False,
            opset_version=_OPSET,
            input_names=["X"],
            output_names=["score"],
            dynamic_axes={"X": {0: "rows"}, "score": {0: "rows"}},
        )
    return onnx.load_from_string(written.getvalue())
