"""Features as a model of the mixture sees them: all or some, as they are or with their place in the list."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Ints, Singles
from rankloop.data import RankingDataset
from rankloop.lists.mean_ranks import mean_ranks
from rankloop.rankers.base.per_list import normalised

__all__ = ["ALL", "View", "missing_features", "varying_features"]


@dataclass(frozen=True, slots=True)
class View:
    """Which features are seen, all or the `columns`, and which columns are added to them.

    With `logs`, sign(x) log(1 + |x|) is seen in place of every feature x. Of the features `by_query`, the
    z-score within the list and the rank within the list, from 0 (last) to 1 (first); of the features
    `missing`, whether the value is missing. Values that are missing stay missing.
    """

    by_query: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    columns: tuple[int, ...] | None = None
    logs: bool = False

    @property
    def name(self) -> str:
        parts = [
            *(["logs"] if self.logs else []),
            *(["by query"] if self.by_query else []),
            *(["missing"] if self.missing else []),
        ]
        kept = "features" if self.columns is None else f"{len(self.columns)} features"
        return " + ".join([kept, *parts])

    @property
    def added(self) -> int:
        """The number of columns that are added."""
        return 2 * len(self.by_query) + len(self.missing)

    def kept(self, features: int) -> int:
        """The number of columns before any is added, of so many features."""
        return features if self.columns is None else len(self.columns)

    def of(self, X: Singles, offsets: Ints) -> Singles:
        """The columns of this view, for lists with these offsets."""
        seen = X if self.columns is None else np.ascontiguousarray(X[:, list(self.columns)])
        if self.logs:
            seen = np.copysign(np.log1p(np.abs(seen)), seen)
        if not self.by_query and not self.missing:
            return seen
        at = self.kept(X.shape[1])
        wide = np.empty((len(X), at + self.added), np.float32)
        wide[:, :at] = seen
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
        if self == ALL:
            return data
        return data.replace(X=self.of(data.X, data.offsets), feature_names=None)

    def to_dict(self) -> dict[str, list[int]]:
        columns = {} if self.columns is None else {"columns": list(self.columns)}
        logs = {"logs": [1]} if self.logs else {}
        return {"by_query": list(self.by_query), "missing": list(self.missing), **columns, **logs}

    @classmethod
    def from_dict(cls, given: dict[str, Sequence[int]]) -> "View":
        columns = tuple(given["columns"]) if "columns" in given else None
        return cls(tuple(given["by_query"]), tuple(given["missing"]), columns, "logs" in given)


ALL = View()  # all features as they are


def varying_features(
    data: RankingDataset, most: int, columns: Sequence[int] | None = None
) -> tuple[int, ...]:
    """Features that differ within lists; if there are more than `most`, those that differ in most lists.

    Of all features, or of `columns`.
    """
    among = np.arange(data.n_features) if columns is None else np.array(columns)
    starts = data.offsets[:-1]
    differs = np.array(
        [
            float(np.mean(np.fmax.reduceat(column, starts) > np.fmin.reduceat(column, starts)))
            for column in data.X.T[among]
        ]
    )
    order = np.argsort(-differs, kind="stable")[:most]
    return tuple(sorted(int(among[at]) for at in order if differs[at] > 0))


def missing_features(data: RankingDataset, columns: Sequence[int] | None = None) -> tuple[int, ...]:
    """Features, of all or of `columns`, of which between 1 and 99 % of the values are missing."""
    among = np.arange(data.n_features) if columns is None else np.array(columns)
    share = np.isnan(data.X).mean(axis=0)[among]
    return tuple(int(feature) for feature in among[(share > 0.01) & (share < 0.99)][:100])
