"""What a label is worth: `2^label - 1`, the label itself, or an entry of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import part
from rankloop._names import unknown

__all__ = ["Gain", "GainOption", "gain_of", "gain_table"]

GainOption = str | Sequence[float]

EXP2, LINEAR, TABLE, BINARY = 0, 1, 2, 3
POWERS = np.exp2(np.arange(64.0)) - 1


class Gain(NamedTuple):
    """A gain as kernels take it."""

    kind: int
    table: NDArray[np.float64]

    @classmethod
    def binary(cls, relevance_threshold: float) -> "Gain":
        """1 for relevant documents, 0 for others."""
        return cls(BINARY, np.array([np.float32(relevance_threshold)], np.float64))

    def of(self, labels: NDArray[np.float32]) -> NDArray[np.float64]:
        """The gains of many labels."""
        if self.kind == TABLE:
            return np.take(self.table, labels.astype(np.int64), mode="clip")
        exact = labels.astype(np.float64)
        return np.exp2(exact) - 1 if self.kind == EXP2 else exact


def gain_table(gain: GainOption, labels: NDArray[np.float32]) -> Gain:
    """The gain for these labels, or why it has none for them."""
    if isinstance(gain, str):
        if gain == "linear":
            return Gain(LINEAR, POWERS)
        if gain != "exp2":
            raise unknown("gain", gain, ["exp2", "linear"])
        largest = float(labels.max(initial=0))
        if largest > 512:
            raise ValueError(
                f"2^label overflows for label {largest:g}; use gain='linear' or a table of gains"
            )
        return Gain(EXP2, POWERS)
    table = np.ascontiguousarray(gain, np.float64)
    if table.ndim != 1 or len(table) == 0 or not np.all(np.isfinite(table) & (table >= 0)):
        raise ValueError("a table of gains is one finite number >= 0 for each label 0, 1, 2, ...")
    wrong = (labels != np.floor(labels)) | (labels >= len(table))
    if wrong.any():
        raise ValueError(
            f"the table of gains knows labels 0 to {len(table) - 1}, got label {labels[wrong.argmax()]:g}"
        )
    return Gain(TABLE, table)


@part
def gain_of(label: np.float32, kind: int, table: NDArray[np.float64]) -> float:
    """The gain of one label."""
    if kind == LINEAR:
        return float(label)
    if kind == BINARY:
        return 1.0 if label >= table[0] else 0.0
    whole = int(label)
    if whole == label and whole < len(table):
        return float(table[whole])
    return float(np.exp2(np.float64(label)) - 1.0)
