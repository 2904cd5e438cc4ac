"""One walk over parsed trees, from the leaves to the roots, for all formats that a forest is written in."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from rankloop.rankers.trees.decisions import missing_left
from rankloop.rankers.trees.trees import Trees

__all__ = ["Split", "fold"]

T = TypeVar("T")


class Split(NamedTuple):
    """A node without category: a value goes left when it is at most the threshold."""

    number: int  # within its tree; the leaves are numbered after the nodes
    depth: int
    node: int  # among the nodes of all trees
    feature: int
    threshold: float
    missing_left: bool


def fold(trees: Trees, leaf: Callable[[int, float], T], split: Callable[[Split, T, T], T]) -> list[T]:
    """What `split` and `leaf` make of each tree, and of the bias as a last tree of one leaf.

    `leaf` gets a leaf's number and value (the divisor is applied), `split` a node and what was made of its
    two sides. Trees of any depth: nothing calls itself.

    >>> import numpy as np
    >>> tree = Trees(*(np.array(column) for column in ([0], [2.5], [0], [-1], [-2], [1.0, 3.0], [1])), 1)
    >>> fold(tree, lambda number, value: value, lambda at, left, right: (at.threshold, left, right))
    [(2.5, 1.0, 3.0)]
    """
    value = (trees.value / trees.divisor).tolist()
    to_left = missing_left(trees).tolist()
    feature, threshold = trees.feature.tolist(), trees.threshold.tolist()
    sides = trees.left.tolist(), trees.right.tolist()
    made: list[T] = []
    first = leaves = 0
    for count in trees.nodes.tolist():
        depth = _depths(count, [side[first : first + count] for side in sides])
        parts = {count + i: leaf(count + i, value[leaves + i]) for i in range(count + 1)}
        for number in reversed(range(count)):
            at = first + number
            left, right = (parts[side[at] if side[at] >= 0 else count + ~side[at]] for side in sides)
            node = Split(number, depth[number], at, feature[at], threshold[at], to_left[at])
            parts[number] = split(node, left, right)
        made.append(parts[0])
        first, leaves = first + count, leaves + count + 1
    return [*made, leaf(0, trees.bias)] if trees.bias else made


def _depths(count: int, sides: list[list[int]]) -> list[int]:
    """The number of nodes above each node; a child before its parent is an error."""
    depth = [0] * count
    for number in range(count):
        for side in sides:
            child = side[number]
            if not (number < child < count if child >= 0 else ~child <= count):
                raise ValueError(
                    "the trees are damaged: a child comes before its parent; save the model again"
                )
            if child >= 0:
                depth[child] = depth[number] + 1
    return depth
