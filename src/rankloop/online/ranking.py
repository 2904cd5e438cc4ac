"""A page of an online learner, with what it needs to learn from its clicks."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Bools, Ints, Singles

__all__ = ["Ranking"]


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """The rows of `X` that were shown, best first, and notes of the learner that chose them."""

    X: Singles
    shown: Ints
    notes: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shown)

    def clicks(self, given: ArrayLike) -> Bools:
        """Clicks as one 0 or 1 per shown place."""
        clicked = np.asarray(given)
        if clicked.shape != self.shown.shape:
            raise ValueError(
                f"clicks need one 0 or 1 for each of the {len(self)} shown places, got shape {clicked.shape}"
            )
        if clicked.dtype != np.bool_ and not np.isin(clicked, (0, 1)).all():
            raise ValueError(f"clicks are 0 or 1, got {clicked[~np.isin(clicked, (0, 1))][0]}")
        return clicked.astype(np.bool_)
