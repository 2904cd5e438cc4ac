"""A log, counted on the rows of a data set: where each document was shown, how often, and its clicks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bools, Floats, Ints, Ints32
from rankloop.clicks import Aggregate, ClickLog, ClickModel, aggregate
from rankloop.clicks.columns.rows import places
from rankloop.data import RankingDataset
from rankloop.unbiased.estimation.bias import Bias, ClickBias, bias_of, by_page

__all__ = ["Evidence", "Log", "evidence"]

Log = ClickLog | Aggregate


@dataclass(frozen=True, eq=False)
class Evidence:
    r"""One cell per (document, rank, layout), with :math:`\alpha \gamma + \beta` clicks per impression.

    `sessions` counts the pages of each query, also those that did not show the document.
    """

    data: RankingDataset
    row: Ints
    position: Ints32
    impressions: Floats
    clicks: Floats
    alpha: Floats
    beta: Floats
    sessions: Floats

    @property
    def row_sessions(self) -> Floats:
        """The pages of each document's query, 1 where there are none: a divisor."""
        found: Floats = np.where(self.sessions > 0, self.sessions, 1.0)[self.data.row_query]
        return found

    @property
    def row_impressions(self) -> Floats:
        """The pages that showed each document, 1 where there are none: a divisor."""
        shown = self.by_row(self.impressions)
        return np.where(shown > 0, shown, 1.0)

    @property
    def shown(self) -> Bools:
        """Which documents were shown at all."""
        return self.by_row(self.impressions) > 0

    def by_row(self, cells: Floats) -> Floats:
        """The sum over the cells of each document."""
        return np.asarray(np.bincount(self.row, cells, self.data.n_documents), np.float64)

    def slope(self) -> Floats:
        """Clicks per page of the query and unit of relevance: the mean alpha, 0 for pages without it."""
        return self.by_row(self.impressions * self.alpha) / self.row_sessions

    def curve(self) -> Floats:
        """The mean slope of the clicks at each rank; 1 where nothing was shown."""
        depth = int(self.position.max())
        shown = np.bincount(self.position - 1, self.impressions, depth)
        total = np.bincount(self.position - 1, self.impressions * self.alpha, depth)
        return np.divide(total, shown, out=np.ones(depth), where=shown > 0)

    def floor(self) -> Floats:
        """The clicks per page of the query that do not depend on relevance (trust bias)."""
        return self.by_row(self.impressions * self.beta) / self.row_sessions

    def rate(self) -> Floats:
        """The clicks of each document per page of its query."""
        return self.by_row(self.clicks) / self.row_sessions


def evidence(log: Log, propensity: ClickBias | None, data: RankingDataset) -> Evidence:
    """Count the log on the rows of the data set; curves by layout go each to its own pages.

    A model of people who stop reading (`DBN`, `Cascade`, ...) makes one cell of every impression, because
    examination depends on the clicks above it.
    """
    if isinstance(propensity, ClickModel) and by_page(propensity):
        return _page_by_page(log, propensity, data)
    parts = list(_parts(log, propensity))
    if sum(len(counts) for counts, _ in parts) == 0:
        raise ValueError("the log is empty; there is nothing to learn from")
    bias = [one.at(counts.position) for counts, one in parts]
    row = np.concatenate([counts.rows(data) for counts, _ in parts])
    position = np.concatenate([counts.position for counts, _ in parts])
    impressions = np.concatenate([counts.impressions for counts, _ in parts]).astype(np.float64)
    sessions = _sessions(log, data, row, position, impressions)
    order = np.lexsort((position, row))  # whatever the order of the log, or of its shards: sums are the same
    return Evidence(
        data,
        row[order],
        position[order],
        impressions[order],
        np.concatenate([counts.clicks for counts, _ in parts]).astype(np.float64)[order],
        np.concatenate([alpha for alpha, _ in bias])[order],
        np.concatenate([beta for _, beta in bias])[order],
        sessions,
    )


def _page_by_page(log: Log, user: ClickModel, data: RankingDataset) -> Evidence:
    if not isinstance(log, ClickLog):
        raise ValueError(
            "a model of people who stop reading needs a ClickLog; an Aggregate has no clicks above"
        )
    alpha = user.conditional_examination(log, data)
    examined = alpha > 0  # an impression that cannot have been examined has no information
    lost = np.count_nonzero(log.click[~examined])
    if lost:
        raise ValueError(
            f"{type(user).__name__} finds {lost} clicks impossible, such as a second click on a page; "
            "use a model that allows them, such as DBN"
        )
    row, position = log.rows(data)[examined], log.position[examined]
    shown = np.ones(len(row))
    clicks, alpha = log.click[examined].astype(np.float64), alpha[examined]
    sessions = _sessions(log, data, row, position, shown)
    return Evidence(data, row, position, shown, clicks, alpha, np.zeros(len(row)), sessions)


def _parts(log: Log, propensity: ClickBias | None) -> Iterator[tuple[Aggregate, Bias]]:
    if not isinstance(propensity, Mapping):
        depth = int(log.position.max(initial=1))
        yield (aggregate(log) if isinstance(log, ClickLog) else log), bias_of(propensity, depth)
        return
    if not isinstance(log, ClickLog) or log.page_layout is None:
        raise ValueError("curves by layout need a ClickLog with the column layout; pass one curve instead")
    for code in np.unique(log.page_layout.code):
        name = str(log.page_layout.table[code])
        if name not in propensity:
            raise ValueError(f"the log has pages of layout {name!r}, but there is no curve for it")
        pages = log.select(log.page_layout.code == code)
        yield aggregate(pages), bias_of(propensity[name], pages.n_positions)


def _sessions(log: Log, data: RankingDataset, row: Ints, position: Ints32, impressions: Floats) -> Floats:
    """The pages of each query of the data set."""
    if isinstance(log, ClickLog):
        query = places(log.queries, data.qid)[log.page_query.code]
        return np.bincount(query, minlength=data.n_queries).astype(np.float64)
    # An aggregate does not count pages. No page shows a rank twice, so the most shown rank counts them.
    depth = int(position.max())
    key = data.row_query[row] * depth + (position - 1)
    by_rank = np.bincount(key, impressions, data.n_queries * depth).reshape(-1, depth)
    most: Floats = by_rank.max(axis=1)
    return most
