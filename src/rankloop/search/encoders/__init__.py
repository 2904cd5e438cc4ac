"""Encoders: from texts to vectors of length 1.

An encoder is called with the text of a query and gives its vector; `encode` takes many texts.
`open_encoder("minilm")` opens one that `rankloop encoders get minilm` has put on this machine, or a folder
of your own.
"""

from rankloop.search.encoders.get_encoder import get_encoder
from rankloop.search.encoders.listed import ENCODERS
from rankloop.search.encoders.onnx_encoder import OnnxEncoder
from rankloop.search.encoders.open_encoder import find_encoder, open_encoder
from rankloop.search.encoders.pretrained_encoder import PretrainedEncoder
from rankloop.search.encoders.sentence_transformer import sentence_transformer
from rankloop.search.encoders.wordllama import wordllama

__all__ = [
    "ENCODERS",
    "OnnxEncoder",
    "PretrainedEncoder",
    "find_encoder",
    "get_encoder",
    "open_encoder",
    "sentence_transformer",
    "wordllama",
]
