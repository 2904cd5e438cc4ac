"""Pretrained encoders: functions from a query to its vector."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Singles
from rankloop._extras import require

__all__ = ["PretrainedEncoder", "sentence_transformer", "wordllama"]


class PretrainedEncoder:
    """Texts to vectors of length 1 by a pretrained model; queries and documents are encoded alike.

    >>> encoder = PretrainedEncoder("length", lambda texts: [[len(text), 1.0] for text in texts])
    >>> encoder("four").round(2)
    array([0.97, 0.24], dtype=float32)
    """

    def __init__(self, name: str, embed: Callable[[Sequence[str]], Any]) -> None:
        self.name = name
        self._embed = embed

    def __repr__(self) -> str:
        return f"PretrainedEncoder({self.name!r})"

    def __call__(self, text: str) -> Singles:
        """The vector of a query."""
        vector: Singles = self.encode([text])[0]
        return vector

    def encode(self, texts: Sequence[str]) -> Singles:
        """One vector of length 1 per text."""
        vectors = np.asarray(self._embed(list(texts)), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ValueError(
                f"{self.name} gives one vector per text ({len(texts)}), got shape {vectors.shape}"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), np.float32)

    @property
    def fingerprint(self) -> str:
        """A hash of the name and of the vector of a fixed text."""
        seen = self.encode(["the quick brown fox"]).round(4).tobytes()
        return hashlib.blake2b(self.name.encode() + seen, digest_size=8).hexdigest()


def sentence_transformer(name: str, **options: Any) -> PretrainedEncoder:
    """A model of sentence-transformers by its name or folder; the options go to `SentenceTransformer`."""
    model = require("sentence_transformers", "encoders").SentenceTransformer(name, **options)
    return PretrainedEncoder(name, model.encode)


def wordllama(dimension: int = 256) -> PretrainedEncoder:
    """The static embedding inside the package wordllama; nothing is downloaded."""
    package = require("wordllama", "encoders")
    # By default it looks for its tokenizer in a folder that does not exist; its own folder has it.
    inside = Path(package.__file__).parent
    model = package.WordLlama.load(dim=dimension, cache_dir=inside, disable_download=True)
    return PretrainedEncoder(f"wordllama-{dimension}", model.embed)
