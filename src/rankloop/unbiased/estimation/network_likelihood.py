"""The likelihood of clicks as a loss for networks, which train on batches of documents."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rankloop._arrays import Ints
from rankloop.lists import list_sums
from rankloop.losses import Loss, LossResult
from rankloop.losses.kernels.lists import LossLists
from rankloop.unbiased.estimation.cells import CellLikelihood

__all__ = ["MOST", "NumberedLikelihood"]

MOST = 1 << 24  # rows: labels are float32, which has all integers up to here


@dataclass(frozen=True, eq=False)
class NumberedLikelihood(Loss):
    """The likelihood of the cells of some documents; the label of a document is its row."""

    pointwise: ClassVar[bool] = True

    cells: CellLikelihood  # in the order of their rows
    edges: Ints  # the cells of row i are those from edges[i] to edges[i + 1]

    @classmethod
    def of(cls, cells: CellLikelihood) -> "NumberedLikelihood":
        order = np.argsort(cells.row, kind="stable")
        edges = np.concatenate(([0], np.cumsum(np.bincount(cells.row, minlength=cells.rows))))
        return cls(_taken(cells, order, cells.row[order], cells.rows), edges)

    @property
    def name(self) -> str:
        return "numberedlikelihood"

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        row = lists.labels.astype(np.int64)
        counts = np.diff(self.edges)[row]
        place = np.repeat(np.arange(len(row)), counts)
        before = np.cumsum(counts) - counts
        at = np.arange(len(place)) + (self.edges[row] - before)[place]
        found = _taken(self.cells, at, place, len(row))
        gradient, hessian = found.derivatives(lists.scores, lists.labels, lists.offsets)
        return LossResult(list_sums(found.costs(lists.scores), lists.offsets), gradient, hessian)


def _taken(cells: CellLikelihood, at: Ints, row: Ints, rows: int) -> CellLikelihood:
    """Some cells, with new row numbers."""
    return replace(
        cells,
        row=row,
        rank=cells.rank[at],
        impressions=cells.impressions[at],
        clicks=cells.clicks[at],
        alpha=cells.alpha[at],
        beta=cells.beta[at],
        rows=rows,
    )
