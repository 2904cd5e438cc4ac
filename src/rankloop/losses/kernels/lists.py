"""What a loss takes, checked once: flat arrays of one fixed set of types."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._jit import kernel
from rankloop.data import Pairs

__all__ = ["Lists", "group_pairs", "list_sums", "make_lists", "without_contrast"]


class Lists(NamedTuple):
    """A batch of lists: flat arrays, where list q is rows `offsets[q]` to `offsets[q + 1]`."""

    scores: NDArray[np.float64]
    labels: NDArray[np.float32]
    offsets: NDArray[np.int64]
    weight: NDArray[np.float32]  # empty where every document counts alike
    query_weight: NDArray[np.float64] | None
    pairs: Pairs | None

    @property
    def n_lists(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        return len(self.scores)

    def mass(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Amounts per document times their item weights."""
        return amounts * self.weight if len(self.weight) else amounts


def make_lists(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    weight: ArrayLike | None,
    query_weight: ArrayLike | None,
    pairs: Pairs | None,
    *,
    signed_labels: bool = False,
) -> Lists:
    s = np.ascontiguousarray(scores, dtype=np.float64)
    y = np.ascontiguousarray(labels, dtype=np.float32)
    edges = np.ascontiguousarray(offsets, dtype=np.int64)
    if s.ndim != 1 or y.ndim != 1 or len(s) != len(y):
        raise ValueError(f"scores and labels are flat and of one length, got shapes {s.shape} and {y.shape}")
    if (
        edges.ndim != 1
        or len(edges) < 2
        or edges[0] != 0
        or edges[-1] != len(s)
        or np.any(np.diff(edges) < 0)
    ):
        raise ValueError(
            f"offsets rise from 0 to the number of documents ({len(s)}), got {_shown(edges)}; "
            "list q is rows offsets[q] to offsets[q + 1]"
        )
    w = np.zeros(0, np.float32) if weight is None else np.ascontiguousarray(weight, dtype=np.float32)
    if weight is not None and w.shape != s.shape:
        raise ValueError(f"weight needs one value per document ({len(s)}), got shape {w.shape}")
    _refuse(s, edges, "scores must be finite", _first_not_finite(s))
    lowest = np.finfo(np.float32).min if signed_labels else 0.0
    _refuse(y, edges, "labels must be finite and >= 0" if not signed_labels else "labels must be finite",
            _first_outside(y, np.float32(lowest)))  # fmt: skip
    _refuse(w, edges, "weights must be finite and >= 0", _first_outside(w, np.float32(0.0)))
    per_list = None
    if query_weight is not None:
        per_list = np.ascontiguousarray(query_weight, dtype=np.float64)
        if per_list.shape != (len(edges) - 1,):
            raise ValueError(
                f"query_weight needs one value per list ({len(edges) - 1}), got shape {per_list.shape}"
            )
        wrong = ~(np.isfinite(per_list) & (per_list >= 0))
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(f"query_weight is finite and >= 0, got {per_list[at]:g} in list {at}")
    return Lists(s, y, edges, w, per_list, pairs)


def group_pairs(
    lists: Lists,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.float32],
    NDArray[np.float32],
]:
    """The explicit pairs in the order of their lists, with offsets; all empty where there are none."""
    if lists.pairs is None:
        none, nothing = np.zeros(0, np.int64), np.zeros(0, np.float32)
        return none, none, none, nothing, nothing
    pairs = lists.pairs
    for side in (pairs.better, pairs.worse):
        if len(side) and (side.min() < 0 or side.max() >= lists.n_documents):
            at = int(np.argmax((side < 0) | (side >= lists.n_documents)))
            raise ValueError(f"pair {at} names row {side[at]}, but the rows are 0 to {lists.n_documents - 1}")
    first = np.searchsorted(lists.offsets, pairs.better, "right") - 1
    second = np.searchsorted(lists.offsets, pairs.worse, "right") - 1
    if np.any(first != second):
        at = int(np.argmax(first != second))
        raise ValueError(f"pair {at} joins list {first[at]} with list {second[at]}; a pair stays in one list")
    order = np.argsort(first, kind="stable")
    edges = np.searchsorted(first[order], np.arange(lists.n_lists + 1)).astype(np.int64)
    return edges, pairs.better[order], pairs.worse[order], pairs.probability[order], pairs.weight[order]


@kernel
def list_sums(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of each list."""
    sums = np.zeros(offsets.size - 1)
    for q in range(offsets.size - 1):
        for i in range(offsets[q], offsets[q + 1]):
            sums[q] += values[i]
    return sums


@kernel
def without_contrast(labels: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lists have no two labels that differ."""
    silent = np.ones(offsets.size - 1, np.bool_)
    for q in range(offsets.size - 1):
        for i in range(offsets[q] + 1, offsets[q + 1]):
            if labels[i] != labels[offsets[q]]:
                silent[q] = False
                break
    return silent


@kernel
def _first_not_finite(values: NDArray[np.float64]) -> int:
    for i in range(values.size):
        if not np.isfinite(values[i]):
            return i
    return -1


@kernel
def _first_outside(values: NDArray[np.float32], lowest: np.float32) -> int:
    for i in range(values.size):
        if not (values[i] >= lowest and np.isfinite(values[i])):
            return i
    return -1


def _refuse(values: NDArray[np.floating], offsets: NDArray[np.int64], wanted: str, row: int) -> None:
    if row >= 0:
        query = int(np.searchsorted(offsets, row, "right")) - 1
        raise ValueError(f"{wanted}, got {values[row]:g} in list {query} (row {row})")


def _shown(offsets: NDArray[np.int64]) -> str:
    return str(offsets.tolist()) if offsets.size <= 8 else f"{offsets[0]} ... {offsets[-1]}"
