"""The gain of one label, compiled into kernels."""

import numpy as np

from rankloop._arrays import Floats
from rankloop._jit import part
from rankloop.lists.gain import BINARY, LINEAR

__all__ = ["gain_of"]


@part
def gain_of(label: np.float32, kind: int, table: Floats) -> float:
    """What `Gain(kind, table)` gives for one label; whole labels are looked up."""
    if kind == LINEAR:
        return float(label)
    if kind == BINARY:
        return 1.0 if label >= table[0] else 0.0
    whole = int(label)
    if whole == label and whole < len(table):
        return float(table[whole])
    return float(np.exp2(np.float64(label)) - 1.0)
