"""A network that gives each text a vector of its own."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from rankloop._arrays import Ints, Singles
from rankloop.rankers.neural.processes import own_device
from rankloop.rankers.text.cross_encoder import CrossEncoder
from rankloop.rankers.text.lists import Chunk, PairBatch, pair_batch
from rankloop.rankers.text.model import load_weights, made_of, open_model, weights_of
from rankloop.rankers.text.tokens import Texts, Tokenizer

__all__ = ["BiEncoder"]

_AT_ONCE = {"cpu": 16_384, "cuda": 262_144}  # tokens
_SCORED = 512  # texts


class BiEncoder:
    """Texts to vectors by a BERT: the mean of the vectors of a text's tokens, or each token's own."""

    def __init__(self, network: nn.Module, tokenizer: Tokenizer, about: dict[str, Any], tokens: int) -> None:
        if not isinstance(network, CrossEncoder) or network.classes:
            raise ValueError("vectors of texts come from a BERT without a classifier, such as minilm")
        self.bert, self.tokenizer, self.about, self.tokens = network.bert, tokenizer, about, tokens
        self.dimension = network.bert.shape.hidden_size

    @classmethod
    def open(cls, checkpoint: str | Path, *, tokens: int, device: str = "auto", seed: int = 0) -> Self:
        """The pretrained model of a folder or of a name in the cache."""
        model = open_model(checkpoint, dropout=0.0, seed=seed)
        made = cls(*model, tokens=tokens)
        made.bert.to(own_device(device))
        return made

    def texts(self, texts: Sequence[str]) -> Texts:
        return Texts(self.tokenizer, texts, self.tokens)

    def vectors(self, texts: Texts, rows: Ints) -> Tensor:
        """One vector per text, not of length 1; gradients flow through them."""
        batch = self._batch(texts, rows)
        means = []
        for chunk in batch.chunks:
            lengths = chunk.packed.edges.diff().long()
            means.append(torch.segment_reduce(self._hidden(chunk), "mean", lengths=lengths, unsafe=True))
        return torch.cat(means)[batch.back]

    def encode(self, texts: Sequence[str]) -> Singles:
        """One vector of length 1 per text."""
        read = self.texts(texts)
        made = np.zeros((len(texts), self.dimension), np.float32)
        self.bert.eval()
        with torch.inference_mode():
            for start in range(0, len(texts), _SCORED):
                rows = np.arange(start, min(start + _SCORED, len(texts)))
                units = nn.functional.normalize(self.vectors(read, rows), dim=1)
                made[rows] = units.cpu().numpy()
        return made

    def token_vectors(self, texts: Sequence[str]) -> Iterator[Singles]:
        """For each text the vectors of its tokens, each of length 1."""
        read = self.texts(texts)
        self.bert.eval()
        with torch.inference_mode():
            for start in range(0, len(texts), _SCORED):
                rows = np.arange(start, min(start + _SCORED, len(texts)))
                batch = self._batch(read, rows)
                parts: list[Singles] = []
                for chunk in batch.chunks:
                    units = nn.functional.normalize(self._hidden(chunk), dim=1).cpu().numpy()
                    parts += np.split(units, np.cumsum(chunk.packed.lengths)[:-1])
                for at in batch.back.tolist():
                    yield parts[at]

    def state(self) -> dict[str, Any]:
        """Weights as arrays by name."""
        return weights_of(self.bert)

    @classmethod
    def restored(cls, about: dict[str, Any], written: str, weights: Mapping[str, Any], tokens: int) -> Self:
        """The encoder whose `about`, tokenizer and `state` these are."""
        tokenizer = Tokenizer(written)
        made = cls(made_of(about, 0.0, weights, tokenizer), tokenizer, about, tokens)
        load_weights(made.bert, weights)
        return made

    def _batch(self, texts: Texts, rows: Ints) -> PairBatch:
        device = self.bert.words.weight.device
        return pair_batch(texts, rows, device, _AT_ONCE.get(device.type, 16_384))

    def _hidden(self, chunk: Chunk) -> Tensor:
        made: Tensor = self.bert(chunk.tokens, chunk.types, chunk.places, chunk.packed)
        return made.float()
