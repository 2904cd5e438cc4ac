"""Features as a model of the mixture sees them: as they are, or with their place within the list added."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Ints, Singles
from rankloop.data import RankingDataset
from rankloop.lists.mean_ranks import mean_ranks
from rankloop.rankers.base.per_list import normalised

__all__ = ["View", "missing_features", "varying_features"]


@dataclass(frozen=True, slots=True)
class View:
    """Which columns are added to the features.

    Of the features `by_query`, the z-score within the list and the rank within the list, from 0 (last) to 1
    (first); of the features `missing`, whether the value is missing. Values that are missing stay missing.
    """

    by_query: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        parts = [*(["by query"] if self.by_query else []), *(["missing"] if self.missing else [])]
        return " + ".join(["features", *parts])

    @property
    def added(self) -> int:
        """The number of columns that are added."""
        return 2 * len(self.by_query) + len(self.missing)

    def of(self, X: Singles, offsets: Ints) -> Singles:
        """The columns of this view, for lists with these offsets."""
        if not self.by_query and not self.missing:
            return X
        wide = np.empty((len(X), X.shape[1] + self.added), np.float32)
        wide[:, : X.shape[1]] = X
        at = X.shape[1]
        lengths = np.repeat(np.diff(offsets), np.diff(offsets)).astype(np.float64)
        for feature in self.by_query:
            column = X[:, feature].astype(np.float64)
            wide[:, at] = normalised(column, offsets, "zscore")
            wide[:, at + 1] = 1 - (mean_ranks(column, offsets) - 1) / np.maximum(lengths - 1, 1)
            at += 2
        for feature in self.missing:
            wide[:, at] = np.isnan(X[:, feature])
            at += 1
        return wide

    def data(self, data: RankingDataset) -> RankingDataset:
        """The data set with the columns of this view."""
        if not self.by_query and not self.missing:
            return data
        return data.replace(X=self.of(data.X, data.offsets), feature_names=None)

    def to_dict(self) -> dict[str, list[int]]:
        return {"by_query": list(self.by_query), "missing": list(self.missing)}

    @classmethod
    def from_dict(cls, given: dict[str, Sequence[int]]) -> "View":
        return cls(tuple(given["by_query"]), tuple(given["missing"]))


def varying_features(data: RankingDataset, most: int) -> tuple[int, ...]:
    """Features that differ within lists; if there are more than `most`, those that differ in most lists."""
    starts = data.offsets[:-1]
    differs = np.array(
        [
            float(np.mean(np.fmax.reduceat(column, starts) > np.fmin.reduceat(column, starts)))
            for column in data.X.T
        ]
    )
    order = np.argsort(-differs, kind="stable")[:most]
    return tuple(sorted(int(feature) for feature in order if differs[feature] > 0))


def missing_features(data: RankingDataset) -> tuple[int, ...]:
    """Features of which between 1 and 99 % of the values are missing."""
    share = np.isnan(data.X).mean(axis=0)
    return tuple(int(feature) for feature in np.flatnonzero((share > 0.01) & (share < 0.99))[:100])
