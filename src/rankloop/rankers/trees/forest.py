"""A fitted forest as flat arrays, scored by kernels of our own."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._jit import over_lists, thread_count
from rankloop.rankers.trees.lanes import LANES
from rankloop.rankers.trees.packing import MOST_LEAVES, checked, pack
from rankloop.rankers.trees.score_kernels import add_alone, add_blocks, add_by_eight, to_bins
from rankloop.rankers.trees.trees import Trees

__all__ = ["Forest", "compile_forest", "read_trees"]

_FEW = 16  # so many documents, or more where trees are large, walk from root to leaf, eight at a time
_ALONE = 5  # so many walk one by one, through sixteen trees at a time
_MANY = 4096  # fewer documents than this stay in one thread


def compile_forest(model: str) -> "Forest":
    """The forest in the text of a model: LightGBM's `model_to_string()`, XGBoost's or CatBoost's JSON.

    LightGBM's and CatBoost's raw scores come out to the last bit. XGBoost adds in single precision, and its
    scores are met to that: this forest adds in double precision.

    >>> import lightgbm
    >>> X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 3
    >>> booster = lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, y), 10)
    >>> forest = compile_forest(booster.model_to_string())
    >>> bool((forest.score(X) == booster.predict(X)).all())
    True
    """
    trees = read_trees(model)
    if trees.lines is not None:
        raise ValueError("trees with linear leaves cannot be compiled; train with linear_tree=False")
    return Forest.from_arrays(pack(trees))


def read_trees(model: str) -> Trees:
    """The trees in the text of a model, whichever backend wrote it."""
    if model.startswith("tree\n"):
        from rankloop.rankers.trees.lightgbm_trees import read_lightgbm

        return read_lightgbm(model)
    if model.startswith("{"):
        from rankloop.rankers.trees.json_trees import read_json

        return read_json(model)
    raise ValueError(
        "wanted the text of a model (LightGBM's model_to_string(), or XGBoost's or CatBoost's JSON), "
        f"got {model[:40]!r}"
    )


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees over features cut into bins: gives the backend's raw scores to the last bit.

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
    constants: NDArray[np.float64]  # features, size of a zero, bias, divisor, whether values are float32

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
        _, _, bias, divisor, single = self.constants.tolist()
        if rows.dtype != np.float32:
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float32 if single else np.float64, copy=False)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must be rows of {self.n_features} features, got shape {rows.shape}")
        scores = np.zeros(len(rows))
        if len(rows) <= _ALONE:
            self._add_alone(rows, scores)
        elif len(rows) < _MANY:
            self._add(rows, scores)
        else:
            spans = np.append(np.arange(0, len(rows), LANES), len(rows))

            def work(a: int, b: int) -> None:
                self._add(rows[spans[a] : spans[b]], scores[spans[a] : spans[b]])

            over_lists(work, spans, threads=thread_count(threads))
        return scores if (bias, divisor) == (0.0, 1.0) else scores / divisor + bias

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What `Forest.from_arrays` takes: how a ranker saves its forest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "Forest":
        """The forest of arrays from anywhere: they are checked, as kernels would read past their ends."""
        return cls(**checked({field.name: np.asarray(arrays[field.name]) for field in fields(cls)}))

    def _add(self, X: NDArray[Any], scores: NDArray[np.float64]) -> None:
        """All trees: for blocks of up to 64 documents, or for eight, or for one, whichever costs least."""
        rows = len(X)
        bins = aligned(max(1, len(self.columns)) * LANES)
        if rows > self._few:
            reached, leaf = np.empty(2 * MOST_LEAVES, np.int64), np.empty(LANES, np.uint8)
        a = 0
        while rows - a > _ALONE:
            width = self._block if rows - a > self._few else 8
            b = min(rows, a + width)
            some = plain(X[a:b])
            to_bins(some, self.columns, self.edges, self.table, self.special, self.constants[1], width, bins)
            if width == LANES:
                add_blocks(bins, self.words, self.trees, self.values, reached, leaf, scores[a:b])
            else:
                add_by_eight(bins, self.words, self.trees, self.values, scores[a:b])
            a = b
        if a < rows:
            self._add_alone(X[a:], scores[a:])

    @cached_property
    def _block(self) -> int:
        """How many of many documents pass the trees together: trees with too many leaves are walked."""
        return LANES if self.trees[:, 1].max(initial=0) < MOST_LEAVES else 8

    @cached_property
    def _few(self) -> int:
        """Up to so many documents walk: a block costs the nodes of a tree, a walk its depth."""
        return max(_FEW, int(self.trees[:, 1].sum()) // (8 * max(1, self.n_trees)))

    def _add_alone(self, X: NDArray[Any], scores: NDArray[np.float64]) -> None:
        add_alone(
            plain(X),
            self.columns,
            self.edges,
            self.table,
            self.special,
            self.constants[1],
            self.words,
            self.trees,
            self.values,
            scores,
        )


def plain(X: NDArray[Any]) -> NDArray[Any]:
    """The same rows in the one layout that the kernels are compiled for."""
    return X if X.flags.c_contiguous and X.flags.writeable else np.array(X, order="C")


def aligned(size: int) -> NDArray[np.uint8]:
    """Bytes that begin with a cache line: a vector of 64 then never lies across two."""
    raw = np.zeros(size + LANES, np.uint8)
    start = -raw.ctypes.data % LANES
    return raw[start : start + size]
