"""Utilities of documents by their features: what the people of a simulated world want."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from rankloop._arrays import Floats, Singles
from rankloop._names import one_of

__all__ = ["UTILITIES", "Utility", "utility"]

TRAITS = 12  # features that matter, at most; the others are noise
FOREST = 30  # trees of the utility "trees", each of depth 3
UNITS = 16  # hidden units of the utility "network"

Utility = Callable[[Singles], Floats]


def utility(kind: str, features: int, rng: Generator) -> Utility:
    """A function of rows of features, drawn at random; `kind` is one of `UTILITIES`.

    >>> X = np.random.default_rng(1).normal(size=(100, 3)).astype(np.float32)
    >>> utility("linear", 3, np.random.default_rng(0))(X).shape
    (100,)
    """
    one_of("utility", kind, UTILITIES)
    used = rng.permutation(features)[: min(features, TRAITS)]
    drawn = UTILITIES[kind](len(used), rng)
    return lambda X: drawn(X[:, used].astype(np.float64))


def _linear(traits: int, rng: Generator) -> Callable[[Floats], Floats]:
    weight = rng.normal(size=traits)
    return lambda X: np.asarray(X @ weight)


def _products(traits: int, rng: Generator) -> Callable[[Floats], Floats]:
    """Pairs of features multiplied, and a little that is linear."""
    left, right = rng.integers(0, traits, (2, max(2, traits)))
    weight, line = rng.normal(size=len(left)), 0.4 * rng.normal(size=traits)
    return lambda X: np.asarray((X[:, left] * X[:, right]) @ weight + X @ line)


def _trees(traits: int, rng: Generator) -> Callable[[Floats], Floats]:
    """A sum of complete trees of depth 3."""
    feature = rng.integers(0, traits, (FOREST, 7))
    cut, value = rng.normal(scale=0.7, size=(FOREST, 7)), rng.normal(size=(FOREST, 8))

    def worth(X: Floats) -> Floats:
        total, row = np.zeros(len(X)), np.arange(len(X))
        for tree in range(FOREST):
            node = np.zeros(len(X), np.int64)
            for _ in range(3):
                node = 2 * node + 1 + (X[row, feature[tree, node]] > cut[tree, node])
            total += value[tree, node - 7]
        return total

    return worth


def _network(traits: int, rng: Generator) -> Callable[[Floats], Floats]:
    """A network with one hidden layer and random weights."""
    inner = rng.normal(scale=1.5 / np.sqrt(traits), size=(traits, UNITS))
    shift, outer = rng.normal(size=UNITS), rng.normal(size=UNITS)
    return lambda X: np.asarray(np.tanh(X @ inner + shift) @ outer)


UTILITIES: dict[str, Callable[[int, Generator], Callable[[Floats], Floats]]] = {
    "linear": _linear,
    "products": _products,
    "trees": _trees,
    "network": _network,
}
