"""A batch of lists, checked once."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Floats, Ints, Singles
from rankloop.lists.check_offsets import check_offsets, writable

__all__ = ["Lists", "check_column", "check_weight"]

_NO_WEIGHT = np.zeros(0, np.float32)


class Lists:
    """Scores, labels and item weights of many lists: flat arrays of one fixed set of types.

    `weight` is empty where every document counts alike, `highest` the highest label (0 without documents).
    Infinite scores are allowed unless `finite`; labels below 0 only where they are `signed` (the scores of a
    teacher).

    >>> lists = Lists([0.2, 0.9, 0.5], [0, 1, 2], [0, 1, 3])
    >>> lists.n_lists, lists.n_documents, lists.longest
    (2, 3, 2)
    >>> Lists([0.2, 0.9], [0, -1], [0, 2])
    Traceback (most recent call last):
    ValueError: labels must be finite and >= 0, got -1 in list 0 (row 1)
    """

    def __init__(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        finite: bool = False,
        signed: bool = False,
    ) -> None:
        self.offsets = check_offsets(offsets)
        self.scores = check_column(scores, self.offsets, "scores", np.float64)
        _check_scores(self.scores, self.offsets, finite)
        self.labels = check_column(labels, self.offsets, "labels", np.float32)
        self.highest = _check_range(self.labels, self.offsets, "labels", signed)
        self.weight = check_weight(weight, self.offsets)

    @property
    def n_lists(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        return len(self.scores)

    @property
    def longest(self) -> int:
        """The length of the longest list."""
        return int(np.diff(self.offsets).max(initial=0))

    def spread(self, per_list: Array) -> Array:
        """One value per document from one per list."""
        return np.repeat(per_list, np.diff(self.offsets))

    def weighted(self, amounts: Floats) -> Floats:
        """Amounts per document times their item weights."""
        return amounts * self.weight if len(self.weight) else amounts


def check_column(values: ArrayLike, offsets: Ints, name: str, dtype: Any) -> Array:
    """One number per document, in one type."""
    rows, array = int(offsets[-1]), np.asarray(values)
    if array.size == 0 and rows == 0:
        return np.zeros(0, dtype)
    if array.ndim != 1 or len(array) != rows:
        raise ValueError(
            f"{name} needs one value per document ({rows} by the offsets), got shape {array.shape}"
        )
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}")
    return writable(np.ascontiguousarray(array, dtype))


def check_weight(values: ArrayLike | None, offsets: Ints, name: str = "weight") -> Singles:
    """Non-negative single-precision numbers, one per document; none where none are given."""
    if values is None:
        return _NO_WEIGHT
    column = check_column(values, offsets, name, np.float32)
    _check_range(column, offsets, name, signed=False)
    return column


def _check_scores(values: Floats, offsets: Ints, finite: bool) -> None:
    if finite:
        sound = np.isfinite(values)
        if np.count_nonzero(sound) < len(values):  # of few scores, faster than `all`
            row = int(sound.argmin())
            raise ValueError(f"scores must be finite, got {values[row]:g} in {_place(row, offsets)}")
    elif len(values) and math.isnan(np.maximum.reduce(values)):  # nan where any score is
        row = int(np.isnan(values).argmax())
        raise ValueError(f"scores must not be nan, got nan in {_place(row, offsets)}; rank it last with -inf")


def _check_range(values: Singles, offsets: Ints, name: str, signed: bool) -> float:
    """The highest value, or what is wrong with one."""
    if not len(values):
        return 0.0
    # Both are nan where any value is, and nan fails every comparison.
    lowest, highest = float(np.minimum.reduce(values)), float(np.maximum.reduce(values))
    if not ((lowest > -math.inf if signed else lowest >= 0) and highest < math.inf):
        row = int(np.argmin((values >= (-math.inf if signed else 0)) & np.isfinite(values)))
        wanted = "finite" if signed else "finite and >= 0"
        raise ValueError(f"{name} must be {wanted}, got {values[row]:g} in {_place(row, offsets)}")
    return highest


def _place(row: int, offsets: Ints) -> str:
    return f"list {int(np.searchsorted(offsets, row, 'right')) - 1} (row {row})"
