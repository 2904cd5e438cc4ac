"""Forests with linear functions in their leaves."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Bools, Bytes, Floats, Ints
from rankloop._jit import inlined, kernel, over_lists, part, thread_count
from rankloop.rankers.trees.forest import Forest, aligned, plain
from rankloop.rankers.trees.lanes import LANES
from rankloop.rankers.trees.packing import MOST_LEAVES, pack
from rankloop.rankers.trees.score_kernels import find_leaves, to_bins
from rankloop.rankers.trees.trees import CATEGORY, LEFT, NAN, ZERO, Trees

__all__ = ["LinearForest", "goes_left"]

_FEW = 4  # up to so many documents walk
_MANY = 512  # fewer documents than this stay in one thread

Members = Bools


@dataclass(frozen=True, eq=False)
class LinearForest:
    """LightGBM's scores to the last bit for models with `linear_tree`.

    Blocks of documents find their leaves in the packed trees; a few documents walk. Children and leaves are
    numbered over all trees. `terms[leaf]` to `terms[leaf + 1]` are the terms of a leaf in `term_feature` and
    `coefficient`; `members` has a table of categories for each categorical node.
    """

    feature: Ints
    threshold: Floats
    rule: Ints
    left: Ints
    right: Ints
    root: Ints
    value: Floats
    constant: Floats
    terms: Ints
    term_feature: Ints
    coefficient: Floats
    members: Members
    member_starts: Ints
    n_features: int
    divisor: float
    packed: Forest

    @classmethod
    def of(cls, trees: Trees) -> "LinearForest":
        """The forest of trees as they were read."""
        lines = trees.lines
        if lines is None:
            raise ValueError("these trees have no linear leaves; use compile_forest")
        if (trees.rule & ZERO).any():
            raise ValueError("LightGBM has no linear leaves where zeros count as missing; check this model")
        packed = Forest.from_arrays(pack(trees))  # which refuses invalid children
        nodes, leaves = trees.nodes, trees.nodes + 1
        before, leaves_before = np.cumsum(nodes) - nodes, np.cumsum(leaves) - leaves
        tree = np.repeat(np.arange(len(nodes)), nodes)
        if (lines.feature < 0).any() or (lines.feature >= trees.n_features).any():
            raise ValueError("the trees are damaged: a leaf names a feature that does not exist")
        left, right = (
            np.where(child < 0, child - leaves_before[tree], child + before[tree])
            for child in (trees.left, trees.right)
        )
        tables = [np.isin(np.arange(one.max(initial=-1) + 1), one) for one in trees.sets]
        return cls(
            trees.feature,
            trees.threshold,
            trees.rule,
            left,
            right,
            np.where(nodes > 0, before, ~leaves_before),
            trees.value,
            lines.constant,
            np.append(0, np.cumsum(lines.terms)),
            lines.feature,
            lines.coefficient,
            np.concatenate([np.zeros(0, np.bool_), *tables]),
            np.append(0, np.cumsum([len(table) for table in tables])).astype(np.int64),
            trees.n_features,
            trees.divisor,
            packed,
        )

    def score(self, X: ArrayLike, *, threads: int | None = None) -> Floats:
        """One raw score per row; several threads from 512 rows on."""
        rows = np.ascontiguousarray(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must be rows of {self.n_features} features, got shape {rows.shape}")
        scores = np.zeros(len(rows))
        if len(rows) <= _FEW or self.packed.trees[:, 1].max(initial=0) >= MOST_LEAVES:
            add_walking(rows, *self.walk, self.leaves, scores)
        else:
            spans = np.append(np.arange(0, len(rows), LANES), len(rows))

            def work(a: int, b: int) -> None:
                self._add_blocks(rows[spans[a] : spans[b]], scores[spans[a] : spans[b]])

            over_lists(work, spans, threads=1 if len(rows) < _MANY else thread_count(threads))
        return scores if self.divisor == 1.0 else scores / self.divisor

    def _add_blocks(self, X: Floats, scores: Floats) -> None:
        forest = self.packed
        bins = aligned(max(1, len(forest.columns)) * LANES)
        reached, leaf = np.empty(2 * MOST_LEAVES, np.int64), np.empty(LANES, np.uint8)
        for a in range(0, len(X), LANES):
            some = plain(X[a : a + LANES])
            to_bins(some, forest.binned, LANES, bins)
            add_lines(
                some, bins, forest.words, forest.trees, self.leaves, reached, leaf, scores[a : a + LANES]
            )

    @cached_property
    def walk(self) -> tuple[Ints, tuple[Ints, Floats, Ints, Ints, Ints], tuple[Members, Ints]]:
        """Roots, nodes and categories: the arguments of kernels that walk."""
        nodes = (self.feature, self.threshold, self.rule, self.left, self.right)
        return self.root, nodes, (self.members, self.member_starts)

    @cached_property
    def leaves(self) -> tuple[Floats, Floats, Ints, Ints, Floats]:
        return self.value, self.constant, self.terms, self.term_feature, self.coefficient

    @cached_property
    def depth(self) -> int:
        """The largest number of nodes between a root and a leaf."""
        below = np.zeros(len(self.feature) + 1, np.int64)
        for node in range(len(self.feature) - 1, -1, -1):
            below[node] = 1 + max(
                below[child] if child >= 0 else 0 for child in (self.left[node], self.right[node])
            )
        return int(below.max())


@part
def goes_left(value: float, threshold: float, rule: int, members: Members, starts: Ints) -> bool:
    """Whether a node sends a value to the left."""
    if rule & CATEGORY:
        if np.isnan(value):
            return rule & LEFT != 0
        at = int(threshold)
        size = starts[at + 1] - starts[at]
        return -1.0 < value < size and bool(members[starts[at] + int(value)])
    if np.isnan(value):
        if rule & NAN:
            return rule & LEFT != 0
        value = 0.0
    return value <= threshold


@inlined
def line(
    X: Floats, row: int, leaf: int, plain_value: Floats, constant: Floats, terms: Ints, term_feature: Ints,
    coefficient: Floats,
) -> float:  # fmt: skip
    """The value of a leaf for a document."""
    total: float = constant[leaf]
    for t in range(terms[leaf], terms[leaf + 1]):
        value = X[row, term_feature[t]]
        if np.isnan(value):
            total = plain_value[leaf]
            break
        total += coefficient[t] * value
    return total


@kernel
def add_walking(
    X: Floats,
    roots: Ints,
    nodes: tuple[Ints, Floats, Ints, Ints, Ints],
    sets: tuple[Members, Ints],
    leaves: tuple[Floats, Floats, Ints, Ints, Floats],
    out: Floats,
) -> None:
    """Add every tree to the scores of documents that walk from root to leaf."""
    feature, threshold, rule, left, right = nodes
    members, starts = sets
    plain_value, constant, terms, term_feature, coefficient = leaves
    for root in roots:
        for r in range(len(X)):
            node = root
            while node >= 0:
                down = goes_left(X[r, feature[node]], threshold[node], rule[node], members, starts)
                node = left[node] if down else right[node]
            out[r] += line(X, r, ~node, plain_value, constant, terms, term_feature, coefficient)


@kernel
def add_lines(
    X: Floats,
    bins: Bytes,
    words: Ints,
    trees: Ints,
    leaves: tuple[Floats, Floats, Ints, Ints, Floats],
    reached: Ints,
    leaf: Bytes,
    out: Floats,
) -> None:
    """Add every tree to the scores of up to 64 documents: see `add_blocks`."""
    plain_value, constant, terms, term_feature, coefficient = leaves
    for t in range(len(trees)):
        start, nodes, first = trees[t, 0], trees[t, 1], trees[t, 2]
        find_leaves(bins, words[start : start + nodes], nodes, reached, leaf)
        for d in range(len(out)):
            at = first + leaf[d]
            out[d] += line(X, d, at, plain_value, constant, terms, term_feature, coefficient)
