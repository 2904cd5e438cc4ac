"""A scoring network: the feature transform, then one of the scorers."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from rankloop.rankers.neural.attention import Attention
from rankloop.rankers.neural.gam import GAM
from rankloop.rankers.neural.groupwise import Groupwise
from rankloop.rankers.neural.input import FeatureTransform
from rankloop.rankers.neural.layers import Shape, hidden_layers

if TYPE_CHECKING:
    from rankloop.rankers.neural_ranker import NeuralRanker

__all__ = ["LEVELS", "MLP", "RankingNetwork", "make_scorer"]

LEVELS = frozenset({"head.bias", "level"})  # names of the level in the scorers that have one

# Default widths of the layers; those of "gam" are per feature.
_WIDTHS = {"attention": (128, 64), "gam": (16, 8), "groupwise": (256, 128), "mlp": (256, 128)}


class RankingNetwork(nn.Module):
    """Scores of rows: list q is rows `offsets[q]` to `offsets[q + 1]`; without offsets all are one list."""

    def __init__(self, transform: FeatureTransform, scorer: nn.Module) -> None:
        super().__init__()
        self.transform = transform
        self.scorer = scorer

    def forward(self, X: Tensor, offsets: Tensor | None = None) -> Tensor:
        if offsets is None:
            offsets = torch.tensor([0, len(X)], device=X.device)
        scores: Tensor = self.scorer(self.transform(X), offsets)
        return scores


class MLP(nn.Module):
    """Layers over the features of one document."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        features, hidden, activation, dropout, level = shape
        self.body = hidden_layers((features, *hidden), activation, dropout)
        self.head = nn.Linear(hidden[-1] if hidden else features, 1, bias=level)

    def forward(self, Z: Tensor, offsets: Tensor) -> Tensor:
        scores: Tensor = self.head(self.body(Z)).squeeze(-1)
        return scores


def make_scorer(ranker: "NeuralRanker", columns: int, *, level: bool) -> nn.Module:
    """The scorer that the ranker's parameters describe, with initial weights drawn by its seed."""
    shape = Shape(columns, _hidden(ranker), ranker.activation, ranker.dropout, level)
    with torch.random.fork_rng([]):
        torch.manual_seed(ranker.seed)
        if ranker.scorer == "groupwise":
            return Groupwise(shape, size=ranker.group_size, permutations=ranker.permutations)
        if ranker.scorer == "attention":
            return Attention(shape, blocks=ranker.blocks, heads=ranker.heads, cross=ranker.latent_cross)
        return GAM(shape) if ranker.scorer == "gam" else MLP(shape)


def _hidden(ranker: "NeuralRanker") -> tuple[int, ...]:
    given = _WIDTHS[ranker.scorer] if ranker.hidden is None else ranker.hidden
    widths = tuple(given) if isinstance(given, list | tuple) else (0,)
    if not all(isinstance(width, int | np.integer) and width >= 1 for width in widths):
        raise ValueError(f"hidden holds the widths of the layers, each 1 or more, got {ranker.hidden}")
    if not widths and ranker.scorer != "mlp":
        raise ValueError(f"the scorer {ranker.scorer!r} needs a hidden layer, got hidden={ranker.hidden}")
    return widths
