"""The mean score as a function of one feature."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop._table import Table, Tabled
from rankloop.data import RankingDataset
from rankloop.metrics.results.evaluation import interval_text
from rankloop.rankers.base.feature_names import feature_indices, feature_names
from rankloop.rankers.base.ranker import Ranker

__all__ = ["PartialDependence", "partial_dependence"]


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependence(Tabled):
    """The mean score at each value in `grid`, and the `curves` of the documents it is the mean of.

    `low` and `high` bound the middle 90 % of the documents, after each curve is shifted to the common mean:
    where they are far apart the effect of the feature differs between documents.
    """

    feature: str
    grid: Floats
    curves: Floats

    @property
    def mean(self) -> Floats:
        mean: Floats = self.curves.mean(axis=0)
        return mean

    @property
    def low(self) -> Floats:
        return self._quantile(0.05)

    @property
    def high(self) -> Floats:
        return self._quantile(0.95)

    def _quantile(self, at: float) -> Floats:
        moved = self.curves - self.curves.mean(axis=1, keepdims=True) + self.curves.mean()
        quantile: Floats = np.quantile(moved, at, axis=0)
        return quantile

    def to_dict(self) -> dict[str, Any]:
        columns = {name: getattr(self, name).tolist() for name in ("grid", "mean", "low", "high")}
        return {"feature": self.feature, **columns}

    def table(self) -> Table:
        rows = [
            (f"{value:.6g}", f"{mean:.4f}", interval_text(low, high))
            for value, mean, low, high in zip(self.grid, self.mean, self.low, self.high, strict=True)
        ]
        return Table((self.feature, "mean score", "90 % of documents"), rows, left=0)


def partial_dependence(
    ranker: Ranker,
    data: RankingDataset,
    feature: str | int,
    *,
    points: int = 20,
    documents: int = 1000,
    seed: int = 0,
) -> PartialDependence:
    """The mean score over documents when one feature is set to each of its quantiles (Friedman, 2001).

    About `documents` of them are drawn, as whole queries, so that rankers that score whole lists work too:
    for those the feature is set in the whole list.

    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import RankSVM
    >>> data = synthetic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> found = partial_dependence(RankSVM().fit(data), data, 0, points=5)
    >>> found.grid.shape, found.curves.shape == (data.n_documents, 5)
    ((5,), True)
    """
    if points < 2:
        raise ValueError(f"points must be at least 2, got {points}")
    names = feature_names(ranker)
    (index,) = feature_indices([feature], names)
    order = np.random.default_rng(seed).permutation(data.n_queries)
    taken = max(1, int(np.searchsorted(np.cumsum(data.lengths[order]), documents, "right")))
    some = data.select(np.sort(order[:taken]))
    known = data.X[:, index][~np.isnan(data.X[:, index])]
    if len(known) == 0:
        raise ValueError(f"{names[index]} is missing in every document")
    grid = np.unique(np.quantile(known, np.linspace(0, 1, points), method="nearest")).astype(np.float64)
    X = np.array(some.X)
    curves = np.empty((some.n_documents, len(grid)))
    for place, value in enumerate(grid):
        X[:, index] = value
        curves[:, place] = ranker.predict(some.replace(X=X))
    return PartialDependence(names[index], grid, curves)
