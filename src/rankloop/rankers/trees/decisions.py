"""How a node decides, in single precision and for missing values."""

import numpy as np

from rankloop._arrays import Bools, Floats, Singles
from rankloop.rankers.trees.trees import CATEGORY, LEFT, NAN, ZERO, Trees

__all__ = ["below", "missing_left", "zero_left"]


def below(threshold: Floats) -> Singles:
    """The largest float32 not above the threshold: a float32 value is on the same side of both."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    down = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > threshold, down, single)


def missing_left(trees: Trees) -> Bools:
    """For each node whether a missing value (nan) goes left."""
    ruled = trees.rule & (NAN | ZERO | CATEGORY) != 0
    return np.where(ruled, trees.rule & LEFT != 0, zero_left(trees))


def zero_left(trees: Trees) -> Bools:
    """For each node whether its comparison sends 0 to the left; False at categorical nodes."""
    return np.where(trees.rule & CATEGORY, False, trees.threshold >= 0)
