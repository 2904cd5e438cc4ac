"""Fully connected layers."""

from itertools import pairwise
from typing import NamedTuple

from torch import nn

from rankloop._names import unknown

__all__ = ["Shape", "activate", "hidden_layers"]

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}


class Shape(NamedTuple):
    """What all scorers share: columns, widths of the layers, and whether a constant is added to the score."""

    features: int
    hidden: tuple[int, ...]
    activation: str
    dropout: float
    level: bool


def activate(activation: str) -> nn.Module:
    if activation not in _ACTIVATIONS:
        raise unknown("activation", activation, _ACTIVATIONS)
    return _ACTIVATIONS[activation]()


def hidden_layers(sizes: tuple[int, ...], activation: str, dropout: float) -> nn.Sequential:
    """One layer from each size to the next: linear, activation, dropout."""
    layers: list[nn.Module] = []
    for wide, narrow in pairwise(sizes):
        layers += [nn.Linear(wide, narrow), activate(activation)]
        if dropout:
            layers.append(nn.Dropout(dropout))
    return nn.Sequential(*layers)
