"""Features as bins: the number of edges below a value, in one byte."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints, Singles

__all__ = ["FeatureBins"]

_SAMPLE = 100_000  # documents that edges are found on, at most


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """The edges of each feature: a value goes left of an edge when it is at most the edge.

    Missing values have a bin of their own, after the others, where there are any to learn from; elsewhere
    they count as 0.
    """

    edges: list[Floats]
    kinds: Ints  # by feature the number of edges, and the bin of missing values or -1

    @classmethod
    def of(cls, X: Singles, most: int, seed: int) -> "FeatureBins":
        """At most `most` bins of each feature, with about as many documents each."""
        some = X
        if len(X) > _SAMPLE:
            some = X[np.sort(np.random.default_rng(seed).choice(len(X), _SAMPLE, replace=False))]
        edges, kinds = [], np.empty((X.shape[1], 2), np.int64)
        for feature in range(X.shape[1]):
            missing = bool(np.isnan(X[:, feature]).any())
            edges.append(_edges(some[:, feature], most - missing))
            kinds[feature] = len(edges[-1]), len(edges[-1]) + 1 if missing else -1
        return cls(edges, kinds)

    def threshold(self, feature: int, edge: int) -> float:
        """The value of an edge; all but missing values are below the one after the last."""
        edges = self.edges[feature]
        return float(edges[edge]) if edge < len(edges) else float(np.finfo(np.float64).max)

    def bins(self, X: Singles) -> Bytes:
        """One row for each feature, one column for each document."""
        made = np.empty((X.shape[1], len(X)), np.uint8)
        for feature, edges in enumerate(self.edges):
            values = X[:, feature]
            absent = np.isnan(values)
            found = np.searchsorted(edges, np.where(absent, 0, values), side="left")
            missing = self.kinds[feature, 1]
            made[feature] = np.where(absent, missing, found) if missing >= 0 else found
        return made


def _edges(values: Singles, most: int) -> Floats:
    distinct, count = np.unique(values[~np.isnan(values)], return_counts=True)
    if len(distinct) < 2:
        return np.empty(0)
    if len(distinct) > most:
        below = np.cumsum(count)
        wanted = np.linspace(0, below[-1], most + 1)[1:-1]
        last = np.unique(np.minimum(np.searchsorted(below, wanted), len(distinct) - 2))
    else:
        last = np.arange(len(distinct) - 1)
    low, high = distinct[last].astype(np.float64), distinct[last + 1].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high - low) / 2
    cuts: Floats = np.where((middle >= low) & (middle < high) & np.isfinite(middle), middle, low)
    return cuts
