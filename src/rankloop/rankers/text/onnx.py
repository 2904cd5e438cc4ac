"""A cross-encoder as ONNX: padded tokens in, scores out, in single precision or with int8 weights."""

import io
import tempfile
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from rankloop._extras import require
from rankloop.rankers.text.bert import Layer
from rankloop.rankers.text.cross_encoder import CrossEncoder

__all__ = ["cross_encoder_to_onnx"]

_OPSET = 17
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def cross_encoder_to_onnx(ranker: Any, *, int8: bool) -> Any:
    """The ONNX model of a trained `TextRanker`."""
    onnx, export = require("onnx", "trees"), require("torch", "neural").onnx.export
    scorer = ranker.module_
    if not isinstance(scorer, CrossEncoder):
        raise ValueError("only BERT is exported here; transformers' optimum exports models of other kinds")
    example = torch.ones(2, 5, dtype=torch.long)
    written = io.BytesIO()
    with warnings.catch_warnings():  # the tracer warns of sizes that the score does not depend on
        warnings.simplefilter("ignore")
        export(
            _Padded(deepcopy(scorer).to("cpu").float()).eval(),
            (example, example, torch.zeros_like(example)),
            written,
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(_INPUTS),
            output_names=["score"],
            dynamic_axes={**{name: {0: "pairs", 1: "tokens"} for name in _INPUTS}, "score": {0: "pairs"}},
        )
    model = onnx.load_from_string(written.getvalue())
    return _with_int8(onnx, model) if int8 else model


class _Padded(nn.Module):
    """The same network on a rectangle of tokens with a mask, as ONNX runtimes are fed."""

    def __init__(self, scorer: CrossEncoder) -> None:
        super().__init__()
        self.scorer = scorer

    def forward(self, tokens: Tensor, mask: Tensor, types: Tensor) -> Tensor:
        bert = self.scorer.bert
        places = torch.arange(tokens.shape[1], device=tokens.device).unsqueeze(0)
        x = bert.norm(bert.words(tokens) + bert.positions(places) + bert.types(types))
        hidden = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e9
        for layer in cast("list[Layer]", bert.layers):
            rows, length, width = x.shape
            qkv = layer.qkv(x).view(rows, length, 3, layer.heads, width // layer.heads)
            query, key, value = qkv.permute(2, 0, 3, 1, 4)
            seen = scaled_dot_product_attention(query, key, value, attn_mask=hidden)
            x = layer.rest(x, seen.transpose(1, 2).reshape(rows, length, width))
        scorer = self.scorer
        if scorer.classes:
            first = x[:, 0]
            pooled = first if scorer.pooler is None else torch.tanh(scorer.pooler(first))
        else:
            share = mask.to(x.dtype).unsqueeze(-1)
            pooled = (x * share).sum(1) / share.sum(1)
        return scorer.scored(pooled)


def _with_int8(onnx: Any, model: Any) -> Any:
    """Weights of the matrix products as int8; activations are scaled while it runs."""
    quantization = require("onnxruntime.quantization", "text")
    with tempfile.TemporaryDirectory() as made:
        plain, ready, small = (Path(made) / f"{name}.onnx" for name in ("plain", "ready", "int8"))
        onnx.save(model, plain)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quantization.quant_pre_process(plain, ready, skip_symbolic_shape=True)
            quantization.quantize_dynamic(
                ready,
                small,
                weight_type=quantization.QuantType.QInt8,
                op_types_to_quantize=["MatMul", "Gather"],
            )
        return onnx.load(small)
