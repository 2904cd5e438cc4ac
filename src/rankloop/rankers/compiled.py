"""A fitted forest as flat arrays, scored by kernels of our own."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._jit import over_lists
from rankloop.rankers._forest import add_blocks, add_by_eight_rows, add_by_eight_trees, to_bins
from rankloop.rankers._lanes import LANES
from rankloop.rankers._trees import CATEGORY, LEFT, NAN, ZERO, Trees

__all__ = ["Forest", "compile_forest"]

_MOST_EDGES = 255  # bins are bytes; a feature with more thresholds gets several columns
_MOST_LEAVES = 256  # of a tree that blocks of documents can pass; larger ones are walked
_MOST_WORDS = 1 << 15  # children are 15 bits
_FEW = 16  # so many documents walk from root to leaf, eight at a time
_ALONE = 4  # so many walk one by one, through eight trees at a time
_MANY = 4096  # fewer documents than this stay in one thread


def compile_forest(model: str) -> "Forest":
    """The forest in the text of a model: what LightGBM's `model_to_string` or `save_model` gives.

    >>> import lightgbm
    >>> X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 3
    >>> booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, y), 10)
    >>> forest = compile_forest(booster.model_to_string())
    >>> bool((forest.score(X) == booster.predict(X)).all())
    True
    """
    from rankloop.rankers._lightgbm_trees import read_lightgbm

    if not model.startswith("tree\n"):
        raise ValueError(f"wanted the text of a LightGBM model, got {model[:40]!r}")
    return Forest.of(read_lightgbm(model))


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over features cut into bins: gives the engine's raw scores to the last bit.

    A threshold is known by its number among the sorted thresholds of its feature, so that a document is a
    row of bytes and missing values, zeros and categories are bins like any other (a feature on which nodes
    treat those differently has a column for each way). Blocks of 64 documents pass a tree together, node by
    node, as a set of bits (after RapidScorer, Ye et al., 2018); a few documents walk it.
    """

    words: NDArray[np.int64]
    trees: NDArray[np.int64]
    values: NDArray[np.float64]
    columns: NDArray[np.int64]
    edges: NDArray[np.float64]
    table: NDArray[np.uint8]
    special: NDArray[np.uint8]
    constants: NDArray[np.float64]  # features, size of a zero, bias, divisor

    @classmethod
    def of(cls, trees: Trees) -> "Forest":
        """Pack the trees of an engine."""
        column, edge, made = _columns(trees)
        nodes = trees.nodes
        size = 2 * nodes + 1
        if size.max(initial=0) > _MOST_WORDS:
            raise ValueError(
                f"a tree has {nodes.max() + 1} leaves; at most {_MOST_WORDS // 2} can be compiled"
            )
        if len(made["columns"]) >= 1 << 24:
            raise ValueError("the trees have too many different categorical splits to be compiled")
        first = np.cumsum(size) - size
        tree = np.repeat(np.arange(len(nodes)), nodes)
        rank = np.arange(len(tree)) - np.repeat(np.cumsum(nodes) - nodes, nodes)
        left, right = (np.where(c < 0, nodes[tree] + ~c, c) for c in (trees.left, trees.right))
        words = np.arange(size.sum()) - np.repeat(first, size)
        words = 255 | words << 32 | words << 48
        words[first[tree] + rank] = edge | column << 8 | left << 32 | right << 48
        return cls(
            words=words,
            trees=np.column_stack((first, nodes, np.cumsum(nodes + 1) - nodes - 1)),
            values=trees.value,
            constants=np.array([trees.n_features, trees.zero, trees.bias, trees.divisor]),
            **made,
        )

    @property
    def n_features(self) -> int:
        return int(self.constants[0])

    @property
    def n_trees(self) -> int:
        return len(self.trees)

    def __repr__(self) -> str:
        return f"Forest({self.n_trees:,} trees, {len(self.values):,} leaves, {self.n_features:,} features)"

    def score(self, X: ArrayLike, *, threads: int | None = None) -> NDArray[np.float64]:
        """One raw score per row; threads are used from 4,096 rows on, where they pay."""
        rows = np.asarray(X)
        if rows.dtype != np.float32:
            rows = np.asarray(rows, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must be rows of {self.n_features} features, got shape {rows.shape}")
        scores = np.full(len(rows), self.constants[2])
        spans = np.arange(0, len(rows) + LANES, LANES)
        spans[-1] = len(rows)

        def work(a: int, b: int) -> None:
            self._add(rows, scores, spans[a : b + 1].tolist())

        if len(rows) < _MANY:
            work(0, len(spans) - 1)
        else:
            over_lists(work, spans, threads=_cores() if threads is None else threads)
        return scores if self.constants[3] == 1.0 else scores / self.constants[3]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `Forest.from_arrays` takes: how a ranker saves its forest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "Forest":
        return cls(**{field.name: np.asarray(arrays[field.name]) for field in fields(cls)})

    def _add(self, X: NDArray[Any], scores: NDArray[np.float64], spans: list[int]) -> None:
        """All trees, for blocks of up to 64 documents."""
        bins = _aligned(max(1, len(self.columns)) * LANES)
        reached, leaf = np.empty(2 * _MOST_LEAVES, np.int64), np.empty(LANES, np.uint8)
        small = self.trees[:, 1].max(initial=0) < _MOST_LEAVES
        for a, b in pairwise(spans):
            if b - a > _FEW and small:
                self._bins(X, a, b, LANES, bins)
                add_blocks(bins, self.words, self.trees, self.values, reached, leaf, scores[a:b])
            else:
                self._walk(X, scores, a, b, bins)

    def _walk(self, X: NDArray[Any], scores: NDArray[np.float64], a: int, b: int, bins: Any) -> None:
        """All trees, by eight documents at a time; the last few one by one."""
        while b - a > _ALONE:
            eight = np.zeros(8)
            eight[: b - a] = scores[a : min(a + 8, b)]
            self._bins(X, a, min(a + 8, b), 8, bins)
            add_by_eight_rows(bins, self.words, self.trees, self.values, eight)
            scores[a : min(a + 8, b)] = eight[: b - a]
            a = min(a + 8, b)
        for row in range(a, b):
            self._bins(X, row, row + 1, 1, bins)
            add_by_eight_trees(bins, self.words, self.trees, self.values, scores[row : row + 1])

    def _bins(self, X: NDArray[Any], a: int, b: int, width: int, out: NDArray[np.uint8]) -> None:
        to_bins(X, a, b, self.columns, self.edges, self.table, self.special, self.constants[1], width, out)


def _aligned(size: int) -> NDArray[np.uint8]:
    """Bytes that begin with a cache line: a vector of 64 then never lies across two."""
    raw = np.zeros(size + LANES, np.uint8)
    start = -raw.ctypes.data % LANES
    return raw[start : start + size]


def _columns(trees: Trees) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """For each node its column and the number of its edge there, and the columns themselves."""
    column, edge = np.zeros((2, len(trees.feature)), np.int64)
    columns: list[tuple[int, int, int]] = []
    special: list[tuple[int, int]] = []
    edges: list[NDArray[np.float64]] = []
    table: list[NDArray[np.uint8]] = []
    n_edges = n_table = 0
    keys = trees.feature * 16 + trees.rule
    order = np.lexsort((trees.threshold, keys))
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    for nodes in np.split(order, starts[1:]) if len(order) else []:
        feature, rule = int(trees.feature[nodes[0]]), int(trees.rule[nodes[0]])
        cuts, place = np.unique(trees.threshold[nodes], return_inverse=True)
        if rule == CATEGORY:
            column[nodes] = len(columns) + place
            for which in cuts.astype(int):
                left = trees.sets[which]
                goes = np.ones(int(left.max(initial=-1)) + 1, np.uint8)
                goes[left] = 0
                columns.append((feature, n_table, -len(goes)))
                special.append((_MOST_EDGES, goes[0] if len(goes) else _MOST_EDGES))
                table.append(goes)
                n_table += len(goes)
            continue
        column[nodes] = len(columns) + place // _MOST_EDGES
        edge[nodes] = place % _MOST_EDGES
        missing = 0 if rule & LEFT else _MOST_EDGES
        for first in range(0, len(cuts), _MOST_EDGES):
            some = cuts[first : first + _MOST_EDGES]
            half = 1 << (len(some).bit_length() - 1)
            zero = int(np.searchsorted(some, 0.0))
            columns.append((feature, n_edges, half))
            special.append((missing if rule & (NAN | ZERO) else zero, missing if rule & ZERO else zero))
            edges.append(np.concatenate((some, np.full(2 * half - 1 - len(some), np.inf))))
            n_edges += 2 * half - 1
    return (
        column,
        edge,
        {
            "columns": np.array(columns, np.int64).reshape(-1, 3),
            "special": np.array(special, np.uint8).reshape(-1, 2),
            "edges": np.concatenate([np.empty(0), *edges]),
            "table": np.concatenate([np.empty(0, np.uint8), *table]),
        },
    )


def _cores() -> int:
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
