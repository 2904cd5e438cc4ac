"""The trees of a backend, read from its own file format, before they are packed."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["CATEGORY", "LEFT", "NAN", "ZERO", "Lines", "Trees"]

# The rule of a node: which values are missing, and whether those go left. Otherwise nan counts as 0, or goes
# right where it is asked for its category.
NAN, ZERO, LEFT, CATEGORY = 1, 2, 4, 8


@dataclass(frozen=True)
class Lines:
    """What a leaf says of features: `constant` and its terms, coefficient times feature.

    Where one of those features is missing, the `value` of the leaf holds instead.
    """

    constant: NDArray[np.float64]
    terms: NDArray[np.int64]  # how many each leaf has
    feature: NDArray[np.int64]
    coefficient: NDArray[np.float64]


@dataclass(frozen=True)
class Trees:
    """All trees, node after node: a value goes left when it is at most the threshold.

    Where `rule` has CATEGORY, threshold is an index into `sets`, and the categories of that set go left; nan
    goes right, or left where LEFT is there too. A child is a node of the same tree or, as ~leaf, one of its
    leaves; children come after their parent.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    rule: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    nodes: NDArray[np.int64]  # of each tree; a tree has one leaf more
    n_features: int
    sets: list[NDArray[np.int64]] = field(default_factory=list)
    zero: float = 0.0  # values up to this size are zero
    divisor: float = 1.0  # what the sum over the trees is divided by
    bias: float = 0.0  # what is added at the end
    single: bool = False  # the backend rounds values to float32 before it compares
    lines: Lines | None = None  # in the leaves
