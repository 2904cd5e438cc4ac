"""The pages a click model works on: a log, a data set in its own order, or grades in displayed order."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._arrays import Ints, Ints32, Singles
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.columns.grouping import Pairs
from rankloop.clicks.columns.rows import dataset_documents, dataset_rows
from rankloop.data import RankingDataset
from rankloop.lists.ranks import ranks

__all__ = ["Pages", "Shown", "pages_of"]

Shown = ClickLog | RankingDataset | ArrayLike


@dataclass(frozen=True, eq=False)
class Pages:
    offsets: Ints
    position: Ints32
    click: NDArray[np.int8] | None = None
    grades: Singles | None = None
    data: RankingDataset | None = None
    names: Pairs | None = None
    layout: Coded | None = None
    person: Coded | None = None

    def __len__(self) -> int:
        return len(self.position)

    @property
    def depth(self) -> int:
        """The largest position shown."""
        return int(self.position.max()) if len(self) else 0

    @property
    def clicks(self) -> NDArray[np.int8]:
        if self.click is None:
            raise ValueError("this needs clicks: pass a ClickLog")
        return self.click

    @property
    def known_data(self) -> RankingDataset:
        if self.data is None:
            raise ValueError("this model's parameters depend on grades or features; pass data=, the data set")
        return self.data

    @property
    def known_names(self) -> Pairs:
        if self.names is None:
            raise ValueError("a fitted model looks documents up by id; pass a ClickLog or a RankingDataset")
        return self.names

    @cached_property
    def row(self) -> Ints:
        """For each impression its row in the data set."""
        return dataset_rows(self.known_data, self.known_names)[self.known_names.code]

    @property
    def label(self) -> Singles:
        return self.known_data.y[self.row] if self.grades is None else self.grades

    def features(self, n_features: int) -> Singles:
        X = self.known_data.X[self.row]
        if X.shape[1] != n_features:
            raise ValueError(f"the model was fitted on {n_features} features, the data set has {X.shape[1]}")
        return X


def pages_of(shown: Shown, data: RankingDataset | None = None, offsets: ArrayLike | None = None) -> Pages:
    if isinstance(shown, ClickLog):
        by_page = shown.page_layout, shown.page_user
        return Pages(shown.offsets, shown.position, shown.click, None, data, shown.pairs, *by_page)
    if isinstance(shown, RankingDataset):
        row = np.arange(shown.n_documents, dtype=np.int32)
        names = Pairs(shown.qid, shown.row_query.astype(np.int32), dataset_documents(shown), row, row)
        return Pages(shown.offsets, ranks(shown.offsets, np.int32), None, shown.y, shown, names)
    grades = np.asarray(shown, np.float32)
    if grades.ndim != 1:
        raise ValueError(
            "pages are a ClickLog, a RankingDataset, or one grade per document in displayed order "
            f"(with offsets= for several pages), got shape {grades.shape}"
        )
    bounds = np.array([0, len(grades)]) if offsets is None else np.asarray(offsets)
    bounds = bounds.astype(np.int64)
    if bounds[0] != 0 or bounds[-1] != len(grades) or np.any(np.diff(bounds) < 0):
        raise ValueError(f"offsets run from 0 to {len(grades)} without falling, got {bounds}")
    return Pages(bounds, ranks(bounds, np.int32), None, grades)
