"""A generalised additive model: one small network per feature, and their sum."""

from itertools import pairwise
from math import sqrt

import torch
from torch import Tensor, nn

from rankloop.rankers.neural.layers import Shape, activate

__all__ = ["GAM"]


class GAM(nn.Module):
    r"""Scores :math:`\sum_f g_f(x_f)` (Zhuang et al., 2021): the part of each feature is exact."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        features, hidden, activation, dropout, level = shape
        sizes = tuple(pairwise((1, *hidden)))
        self.weights = nn.ParameterList(_drawn(features, wide, narrow, wide) for wide, narrow in sizes)
        self.levels = nn.ParameterList(_drawn(features, 1, narrow, wide) for wide, narrow in sizes)
        self.head = _drawn(features, hidden[-1], 1, hidden[-1])
        self.level = nn.Parameter(torch.zeros(1)) if level else None
        self.between = nn.Sequential(activate(activation), nn.Dropout(dropout))

    def forward(self, Z: Tensor, offsets: Tensor) -> Tensor:
        scores = self.contributions(Z).sum(1)
        return scores if self.level is None else scores + self.level

    def contributions(self, Z: Tensor) -> Tensor:
        """The part of each column in the score of each row."""
        x = Z.T.unsqueeze(-1)
        for weight, level in zip(self.weights, self.levels, strict=True):
            x = self.between(torch.baddbmm(level.to(x.dtype), x, weight.to(x.dtype)))
        return torch.bmm(x, self.head.to(x.dtype)).squeeze(-1).T


def _drawn(features: int, rows: int, columns: int, fan_in: int) -> nn.Parameter:
    return nn.Parameter((2 * torch.rand(features, rows, columns) - 1) / sqrt(fan_in))
