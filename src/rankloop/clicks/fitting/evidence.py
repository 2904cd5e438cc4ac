"""A log or an aggregate, prepared for fitting."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankloop._arrays import Floats, Ints, Ints32, Singles
from rankloop.clicks.aggregate import Aggregate
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.columns.grouping import Pairs
from rankloop.clicks.fitting.expect import Cells
from rankloop.clicks.fitting.pages import Pages, pages_of
from rankloop.clicks.fitting.parameters import ByPair, Parameter
from rankloop.data import RankingDataset

__all__ = ["Evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    pages: Pages
    names: Pairs
    counts: Aggregate | None
    ranks: int = 0  # at least; a part of a log may have shorter pages

    @staticmethod
    def of(log: ClickLog | Aggregate, data: RankingDataset | None) -> "Evidence":
        if len(log) == 0:
            raise ValueError("the log is empty; there is nothing to fit")
        if isinstance(log, ClickLog):
            pages = pages_of(log, data)
            return Evidence(pages, pages.known_names, None)
        names = log.names
        pages = Pages(np.arange(len(log) + 1), log.position, data=data, names=names)
        return Evidence(pages, names, log)

    @property
    def n_pairs(self) -> int:
        return len(self.names.query)

    @property
    def depth(self) -> int:
        return max(self.pages.depth, self.ranks)

    @cached_property
    def impressions(self) -> int:
        return len(self.pages) if self.counts is None else int(self.counts.impressions.sum())

    @cached_property
    def first_rate(self) -> float:
        """The click rate of the first rank: about that of an examined document."""
        first = self.pages.position == self.pages.position.min()
        if self.counts is None:
            clicks, shown = float(self.pages.clicks[first].sum(dtype=np.int64)), float(first.sum())
        else:
            clicks, shown = (
                float(self.counts.clicks[first].sum()),
                float(self.counts.impressions[first].sum()),
            )
        return float(np.clip(clicks / shown, 0.01, 0.99))

    def start(self) -> Floats:
        return np.full(self.n_pairs, self.first_rate)

    def pages_only(self, model: str) -> Pages:
        """The pages, for models in which the clicks above matter."""
        if self.counts is not None:
            raise ValueError(f"{model} needs whole pages; fit it on a ClickLog, not on an Aggregate")
        return self.pages

    def cells(self, factor: Ints32 | None = None, n_factors: int | None = None) -> Cells:
        """Impressions and clicks by pair and rank (or another factor per impression)."""
        if self.counts is not None:
            counts = self.counts
            shown, clicks = counts.impressions.astype(np.float64), counts.clicks.astype(np.float64)
            return Cells(self.names.code, counts.position - np.int32(1), shown, clicks)
        code = self.pages.position - np.int32(1) if factor is None else factor
        return Cells.counted(self.names.code, code, self.pages.clicks, n_factors or self.depth)

    def by_pair(self, parameter: Parameter) -> Floats:
        values = np.empty(self.n_pairs)
        values[self.names.code] = parameter.at(self.pages)
        return values

    def pair_features(self) -> Singles:
        row = np.empty(self.n_pairs, np.int64)
        row[self.names.code] = self.pages.row
        return self.pages.known_data.X[row]

    def table(self, values: Floats, default: float) -> ByPair:
        names = self.names
        return ByPair(names.queries, names.query, names.documents, names.document, values, default)

    @cached_property
    def usual_rank(self) -> Ints:
        """For each pair the index of the rank at which it was shown, on average."""
        shown = None if self.counts is None else self.counts.impressions
        total = np.bincount(self.names.code, shown, self.n_pairs)
        weight = self.pages.position * (1 if shown is None else shown)
        mean = np.bincount(self.names.code, weight, self.n_pairs) / np.maximum(total, 1)
        return np.maximum(np.rint(mean).astype(np.int64) - 1, 0)
