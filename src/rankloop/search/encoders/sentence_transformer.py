"""The encoders of sentence-transformers."""

from typing import Any

from rankloop._extras import require
from rankloop.search.encoders.pretrained_encoder import PretrainedEncoder

__all__ = ["sentence_transformer"]


def sentence_transformer(name: str, **options: Any) -> PretrainedEncoder:
    """A model of sentence-transformers by its name or folder; the options go to `SentenceTransformer`."""
    model = require("sentence_transformers", "encoders").SentenceTransformer(name, **options)
    return PretrainedEncoder(name, model.encode)
