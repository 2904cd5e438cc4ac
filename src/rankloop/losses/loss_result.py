"""What a loss gives."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats

__all__ = ["LossResult"]


class LossResult(NamedTuple):
    """One value per list; gradient and Hessian (>= 0) of the sum of the values, one per document."""

    value: Floats
    gradient: Floats
    hessian: Floats

    @classmethod
    def zeros(cls, lists: int, documents: int) -> "LossResult":
        """Room for a kernel to add to."""
        return cls(np.zeros(lists), np.zeros(documents), np.zeros(documents))
