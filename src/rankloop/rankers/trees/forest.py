"""A fitted forest as flat arrays, scored by kernels of our own."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Array, Bytes, Floats, Ints
from rankloop._jit import over_lists, thread_count
from rankloop.rankers.trees.lanes import LANES
from rankloop.rankers.trees.packing import MOST_LEAVES, checked
from rankloop.rankers.trees.score_kernels import (
    WORDS,
    Binned,
    Trees,
    add_alone,
    add_blocks,
    add_by_eight,
    to_bins,
)

__all__ = ["Forest", "aligned", "plain"]

_FEW = 16  # up to so many documents (more with large trees) walk from root to leaf, eight at a time
_ALONE = 5  # up to so many documents walk one by one, through sixteen trees at a time
_BINS = 1 << 16  # bytes of bins of the blocks that a tree passes in a row, for the cache
_MANY = 4096  # fewer documents than this stay in one thread


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over binned features: the backend's raw scores to the last bit.

    A threshold is replaced by its number among the sorted thresholds of its feature, so that a document is a
    row of bytes, and missing values, zeros and categories are bins too (a feature whose nodes treat those
    differently has a column for each treatment). Blocks of 64 documents pass a tree together, node by node,
    as the bits of a word (after RapidScorer, Ye et al., 2018); a few documents walk from root to leaf.
    """

    words: Ints
    trees: Ints
    values: Floats
    columns: Ints
    edges: Floats
    table: Bytes
    special: Bytes
    constants: Floats  # features, size of zero, bias, divisor, whether rows are float32

    @property
    def n_features(self) -> int:
        return int(self.constants[0])

    @cached_property
    def binned(self) -> Binned:
        """What the kernels need to bin a row."""
        return self.columns, self.edges, self.table, self.special, self.constants[1]

    @cached_property
    def _forest(self) -> Trees:
        return self.words, self.trees, self.values

    @property
    def n_trees(self) -> int:
        return len(self.trees)

    def __repr__(self) -> str:
        return f"Forest({self.n_trees:,} trees, {len(self.values):,} leaves, {self.n_features:,} features)"

    def score(self, X: ArrayLike, *, threads: int | None = None) -> Floats:
        """One raw score per row; several threads from 4,096 rows on."""
        rows = np.asarray(X)
        _, _, bias, divisor, single = self.constants.tolist()
        if rows.dtype != np.float32:
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float32 if single else np.float64, copy=False)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must be rows of {self.n_features} features, got shape {rows.shape}")
        scores = np.zeros(len(rows))
        if len(rows) <= _ALONE:
            add_alone(plain(rows), self.binned, self._forest, scores)
        elif len(rows) < _MANY:
            self._add(rows, scores)
        else:
            spans = np.append(np.arange(0, len(rows), LANES), len(rows))

            def work(a: int, b: int) -> None:
                self._add(rows[spans[a] : spans[b]], scores[spans[a] : spans[b]])

            over_lists(work, spans, threads=thread_count(threads))
        return scores if (bias, divisor) == (0.0, 1.0) else scores / divisor + bias

    def arrays(self) -> dict[str, Array]:
        """The arrays that `Forest.from_arrays` takes: how a ranker saves its forest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "Forest":
        """The forest of these arrays, which are checked: kernels do not check indices."""
        return cls(**checked({field.name: np.asarray(arrays[field.name]) for field in fields(cls)}))

    def _add(self, X: Array, scores: Floats) -> None:
        """Add all trees, for blocks of 64 documents, of eight, or of one, whichever costs least."""
        rows, columns = len(X), max(1, len(self.columns))
        blocked = self._blocked(rows)
        if blocked:
            blocks = min(-(-blocked // LANES), max(1, _BINS // (columns * LANES)))
            most, bins = blocks * LANES, aligned(blocks * columns * LANES)
            reached, leaf = np.empty(WORDS, np.int64), np.empty(2 * LANES, np.uint8)
            for a in range(0, blocked, most):
                some, to = plain(X[a : min(blocked, a + most)]), scores[a : min(blocked, a + most)]
                add_blocks(some, self.binned, self._forest, bins, reached, leaf, to)
        bins = aligned(columns * 8)
        a = blocked
        while rows - a > _ALONE:
            some, to = plain(X[a : a + 8]), scores[a : a + 8]
            to_bins(some, self.binned, 8, bins)
            add_by_eight(bins, self._forest, to)
            a += len(some)
        if a < rows:
            add_alone(plain(X[a:]), self.binned, self._forest, scores[a:])

    def _blocked(self, rows: int) -> int:
        """How many of the first rows are scored in blocks of 64: all, but for a last few that walk.

        All walk where a tree has too many leaves for a block.
        """
        if self.trees[:, 1].max(initial=0) >= MOST_LEAVES:
            return 0
        return rows if rows % LANES > self._few else rows - rows % LANES

    @cached_property
    def _few(self) -> int:
        """Up to so many documents walk: a block costs the number of nodes of a tree, a walk its depth."""
        return max(_FEW, int(self.trees[:, 1].sum()) // (8 * max(1, self.n_trees)))


def plain(X: Array) -> Array:
    """The same rows in the memory layout that the kernels are compiled for."""
    return X if X.flags.c_contiguous and X.flags.writeable else np.array(X, order="C")


def aligned(size: int) -> Bytes:
    """Zeroed bytes that start at a cache line, so that no vector of 64 crosses two lines."""
    raw = np.zeros(size + LANES, np.uint8)
    start = -raw.ctypes.data % LANES
    return raw[start : start + size]
