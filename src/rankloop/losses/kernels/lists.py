"""Checked lists with what losses need besides: query weights and explicit pairs."""

from copy import copy
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Bools, Floats, Ints, Singles
from rankloop._jit import kernel
from rankloop.data import Pairs
from rankloop.lists import Lists

__all__ = ["GroupedPairs", "LossLists", "Weights", "group_pairs", "inverse", "without_contrast"]


class Weights(TypedDict, total=False):
    """What a loss takes beside scores, labels and offsets."""

    weight: ArrayLike | None
    query_weight: ArrayLike | None
    pairs: Pairs | None


class LossLists(Lists):
    """A batch of lists as losses take it: all scores are finite.

    `query_weight` scales value, gradient and Hessian of a list; `pairs` are explicit preferences.
    """

    def __init__(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike,
        *,
        weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        pairs: Pairs | None = None,
        signed: bool = False,
    ) -> None:
        super().__init__(scores, labels, offsets, weight, finite=True, signed=signed)
        self.pairs = pairs
        self.query_weight = None if query_weight is None else _check_query_weight(query_weight, self.n_lists)

    @property
    def item_weight(self) -> Floats:
        """One weight per document: 1 where none are given."""
        return self.weighted(np.ones(self.n_documents))

    def replace(self, *, scores: Floats | None = None, labels: Singles | None = None) -> "LossLists":
        """The same lists with other scores or labels, which are not checked again."""
        made = copy(self)
        if scores is not None:
            made.scores = scores
        if labels is not None:
            made.labels = labels
        return made


class GroupedPairs(NamedTuple):
    """Explicit pairs in the order of their lists: those of list q are `edges[q]` to `edges[q + 1]`."""

    edges: Ints
    better: Ints
    worse: Ints
    probability: Singles
    weight: Singles


def group_pairs(lists: LossLists, pairs: Pairs) -> GroupedPairs:
    """The pairs, checked to join two rows of one list."""
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
    return GroupedPairs(
        edges, pairs.better[order], pairs.worse[order], pairs.probability[order], pairs.weight[order]
    )


def inverse(totals: Floats) -> Floats:
    """1 / x, and 0 for 0."""
    return np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)


@kernel
def without_contrast(labels: Singles, offsets: Ints) -> Bools:
    """Which lists have no two labels that differ."""
    equal = np.ones(offsets.size - 1, np.bool_)
    for q in range(offsets.size - 1):
        for i in range(offsets[q] + 1, offsets[q + 1]):
            if labels[i] != labels[offsets[q]]:
                equal[q] = False
                break
    return equal


def _check_query_weight(values: ArrayLike, lists: int) -> Floats:
    weight = np.ascontiguousarray(values, dtype=np.float64)
    if weight.shape != (lists,):
        raise ValueError(f"query_weight needs one value per list ({lists}), got shape {weight.shape}")
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"query_weight must be finite and >= 0, got {weight[at]:g} in list {at}")
    return weight
