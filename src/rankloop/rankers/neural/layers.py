"""Fully connected layers."""

from itertools import pairwise

from torch import nn

from rankloop._names import unknown

__all__ = ["activate", "hidden_layers"]

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}


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
