"""Explicit preferences between two documents of one query."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Ints, Singles

__all__ = ["Pairs"]


@dataclass(frozen=True, eq=False, slots=True, init=False)
class Pairs:
    """Row `better` was preferred to row `worse` with `probability` (the share of judges who preferred it).

    >>> Pairs(better=[0, 4], worse=[2, 3], probability=[1.0, 0.75]).weight
    array([1., 1.], dtype=float32)
    """

    better: Ints
    worse: Ints
    probability: Singles
    weight: Singles

    def __init__(
        self,
        better: ArrayLike,
        worse: ArrayLike,
        probability: ArrayLike | None = None,
        weight: ArrayLike | None = None,
    ) -> None:
        first, second = _rows(better), _rows(worse)
        n = len(first)
        chances = np.ones(n, np.float32) if probability is None else _column(probability)
        weights = np.ones(n, np.float32) if weight is None else _column(weight)
        if not len(first) == len(second) == len(chances) == len(weights):
            raise ValueError(
                "pairs need one better, worse, probability and weight each, got "
                f"{len(first)}, {len(second)}, {len(chances)} and {len(weights)}"
            )
        if np.any(first == second):
            at = int(np.argmax(first == second))
            raise ValueError(f"pair {at} prefers row {first[at]} to itself; drop it")
        if not np.all((chances >= 0) & (chances <= 1)):
            at = int(np.argmin((chances >= 0) & (chances <= 1)))
            raise ValueError(f"pair probabilities lie in [0, 1], got {chances[at]} in pair {at}")
        if not np.all(np.isfinite(weights) & (weights >= 0)):
            at = int(np.argmin(np.isfinite(weights) & (weights >= 0)))
            raise ValueError(f"pair weights are finite and >= 0, got {weights[at]} in pair {at}")
        for name, value in zip(self.__slots__, (first, second, chances, weights), strict=True):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.better)

    def moved(self, new_row: Ints) -> "Pairs":
        """The same pairs where old row r is now `new_row[r]`; pairs with a row at -1 are left out."""
        better, worse = new_row[self.better], new_row[self.worse]
        kept = (better >= 0) & (worse >= 0)
        return Pairs(better[kept], worse[kept], self.probability[kept], self.weight[kept])


def _rows(values: ArrayLike) -> Ints:
    rows = np.asarray(values).reshape(-1)
    if rows.size == 0:
        return np.zeros(0, np.int64)
    if rows.dtype.kind not in "iuf":
        raise ValueError(f"rows must be whole numbers, got dtype {rows.dtype}")
    whole = np.isfinite(rows) & (rows == np.round(rows))
    if not whole.all():
        at = int(np.argmin(whole))
        raise ValueError(f"rows must be whole numbers, got {rows[at]} in pair {at}")
    return rows.astype(np.int64)


def _column(values: ArrayLike) -> Singles:
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32).reshape(-1)
