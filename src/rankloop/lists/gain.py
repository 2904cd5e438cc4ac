"""The gain of a label: `2^label - 1`, the label itself, or an entry of a table."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop._names import unknown

__all__ = ["BINARY", "EXP2", "LINEAR", "TABLE", "Gain", "GainOption"]

GainOption = str | Sequence[float]

EXP2, LINEAR, TABLE, BINARY = 0, 1, 2, 3
_POWERS = np.exp2(np.arange(64.0)) - 1
_HIGHEST = 500.0  # 2^label and its sums stay far from the end of float64


class Gain(NamedTuple):
    """A gain in the form that kernels take: a kind, and a table of the gains of labels 0, 1, 2, ...

    >>> Gain.of("exp2", np.array([3], np.float32))(np.array([0, 1, 3], np.float32))
    array([0., 1., 7.])
    """

    kind: int
    table: Floats

    @classmethod
    def of(cls, option: GainOption, labels: Singles, highest: float | None = None) -> "Gain":
        """The gain that an option names; an error where it has none for one of these labels.

        `highest` is the highest label, where it is known.
        """
        if isinstance(option, str):
            if option == "linear":
                return cls(LINEAR, _POWERS)
            if option != "exp2":
                raise unknown("gain", option, ["exp2", "linear"])
            highest = float(labels.max(initial=0)) if highest is None else highest
            if highest > _HIGHEST:
                raise ValueError(
                    f"2^label overflows for label {highest:g}; use gain='linear' or a table of gains"
                )
            return cls(EXP2, _POWERS)
        table = np.ascontiguousarray(option, np.float64)
        if table.ndim != 1 or len(table) == 0 or not np.all(np.isfinite(table) & (table >= 0)):
            raise ValueError("a table of gains is one finite number >= 0 for each label 0, 1, 2, ...")
        wrong = (labels != np.floor(labels)) | (labels >= len(table))
        if wrong.any():
            raise ValueError(
                f"a table of {len(table)} gains takes the labels 0 to {len(table) - 1}, "
                f"got label {labels[wrong.argmax()]:g}"
            )
        return cls(TABLE, table)

    @classmethod
    def binary(cls, relevance_threshold: float) -> "Gain":
        """1 for relevant documents, 0 for others."""
        return cls(BINARY, np.array([np.float32(relevance_threshold)], np.float64))

    def __call__(self, labels: Singles) -> Floats:
        """The gains of many labels."""
        if self.kind == TABLE:
            return np.take(self.table, labels.astype(np.int64), mode="clip")
        wide: Floats = labels.astype(np.float64)
        if self.kind == BINARY:
            return np.asarray(wide >= self.table[0], np.float64)
        return np.asarray(np.exp2(wide) - 1) if self.kind == EXP2 else wide
