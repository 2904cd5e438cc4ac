"""A scoring network over pairs of texts."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from rankloop.rankers.text.bert import Bert, BertShape
from rankloop.rankers.text.lists import Chunk, PairBatch

__all__ = ["CrossEncoder"]

_START = 0.02
_SPEED = 50.0  # how much faster than the pretrained weights a new head learns


class CrossEncoder(nn.Module):
    """Scores of pairs by a BERT that reads both texts at once (Nogueira & Cho, 2019).

    A checkpoint that was trained to classify pairs keeps its pooler and classifier: its score is the logit,
    or that of the second of two classes less that of the first. Otherwise the score is a weighted sum of
    the mean of the token vectors, with small random weights to start from.
    """

    def __init__(self, shape: BertShape, *, dropout: float, classes: int = 0, pooler: bool = False) -> None:
        super().__init__()
        self.bert = Bert(shape, dropout)
        self.classes = classes
        width = shape.hidden_size
        self.pooler = nn.Linear(width, width) if pooler else None
        self.head = nn.Linear(width, max(classes, 1), bias=classes > 0)
        self.dropout = dropout
        if not classes:
            nn.init.normal_(self.head.weight, std=_START / _SPEED)

    def forward(self, batch: PairBatch, offsets: Tensor | None = None) -> Tensor:
        """One score per pair. With several chunks, training keeps the activations of one at a time."""
        if not batch.chunks:
            return self.head.weight.new_zeros(0)
        if self.training and len(batch.chunks) > 1:
            parts = [checkpoint(self._scores, chunk, use_reentrant=False) for chunk in batch.chunks]
        else:
            parts = [self._scores(chunk) for chunk in batch.chunks]
        return torch.cat(parts)[batch.back]

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """Take the weights of a checkpoint, by the names that transformers gives them."""
        self.bert.load(weights)
        with torch.no_grad():
            if self.classes:
                self.head.weight.copy_(weights["classifier.weight"])
                self.head.bias.copy_(weights["classifier.bias"])
            if self.pooler is not None:
                self.pooler.weight.copy_(weights["bert.pooler.dense.weight"])
                self.pooler.bias.copy_(weights["bert.pooler.dense.bias"])

    def vectors(self, chunk: Chunk) -> Tensor:
        """One vector per pair: what the head reads."""
        hidden = self.bert(chunk.tokens, chunk.types, chunk.places, chunk.packed)
        return self.pooled(hidden, chunk)

    def pooled(self, hidden: Tensor, chunk: Chunk) -> Tensor:
        if not self.classes:
            lengths = chunk.packed.edges.diff().long()
            return torch.segment_reduce(hidden.float(), "mean", lengths=lengths, unsafe=True)
        first = hidden[chunk.packed.edges[:-1].long()]
        return first if self.pooler is None else torch.tanh(self.pooler(first))

    def scored(self, pooled: Tensor) -> Tensor:
        """The score of each pooled vector."""
        made: Tensor = self.head(nn.functional.dropout(pooled, self.dropout, self.training))
        if self.classes == 2:
            return made[:, 1] - made[:, 0]
        return made.squeeze(-1) if self.classes else _SPEED * made.squeeze(-1)

    def _scores(self, chunk: Chunk) -> Tensor:
        return self.scored(self.vectors(chunk))
