"""Texts to vectors by any pretrained model."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Singles

__all__ = ["PretrainedEncoder"]


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
