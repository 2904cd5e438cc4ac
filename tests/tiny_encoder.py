"""A text encoder small enough for tests: a table of word vectors as an ONNX model, and its tokenizer."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

WORDS = ["[PAD]", "red", "crimson", "shoe", "blue", "azure", "hat", "[UNK]"]
TABLE = np.array(
    [[9, 9, 9], [1, 0, 0], [0.9, 0.1, 0], [0, 0, 1], [0, 1, 0], [0.1, 0.9, 0], [0, 0.2, -1], [0.1, 0.1, 0.1]],
    np.float32,
)


class Words:
    """A stand-in for the tokenizer: words of the list by number."""

    def __init__(self):
        self.limit = 1000

    @classmethod
    def from_str(cls, written):
        return cls()

    def no_padding(self):
        pass

    def no_truncation(self):
        self.limit = 1000

    def encode(self, text, other=""):
        return self.encode_batch([f"{text} {other}"])[0]

    def enable_truncation(self, max_length):
        self.limit = max_length

    def encode_batch(self, texts):
        return [SimpleNamespace(ids=self._numbers(text)[: self.limit]) for text in texts]

    def _numbers(self, text):
        return [WORDS.index(word) if word in WORDS else 7 for word in text.lower().split()] or [7]


def make_model(folder):
    """A table of vectors, one per token, as an ONNX model."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, number = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["hidden"], axis=0)],
        "encoder",
        [helper.make_tensor_value_info("input_ids", number.INT64, ["texts", "tokens"])],
        [helper.make_tensor_value_info("hidden", number.FLOAT, ["texts", "tokens", 3])],
        [onnx.numpy_helper.from_array(TABLE, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": WORDS}}))
    return folder
