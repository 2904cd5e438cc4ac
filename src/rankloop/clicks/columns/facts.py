"""Counts of what a log holds."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Ints32
from rankloop.clicks.aggregate import Aggregate, aggregate
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.intervention import NONE

__all__ = ["Facts", "facts_of"]


@dataclass(frozen=True, slots=True)
class Facts:
    """Counts of what a log holds."""

    pages: int
    impressions: int
    clicks: int
    queries: int
    ranks: int
    clicks_per_rank: tuple[int, ...]
    pages_without_clicks: int
    pages_with_several_clicks: int
    pages_with_missing_positions: int
    pairs: int
    pairs_at_several_ranks: int  # the same document of the same query, shown at different ranks
    queries_with_one_ranking: int
    groups_of_ranks: int  # ranks that such documents connect; it should be 1
    rankers: int
    layouts: int
    experiments: tuple[str, ...]
    columns: tuple[str, ...]


def facts_of(log: ClickLog) -> Facts:
    counts = aggregate(log)
    per_page = np.add.reduceat(log.click, log.offsets[:-1], dtype=np.int64)
    starts = log.position[log.offsets[:-1]]
    ends = log.position[log.offsets[1:] - 1]
    gaps = (starts != 1) | (ends - starts + 1 != log.lengths)
    pair = counts.names.code
    ranks_of_pair = np.bincount(pair)
    moved = np.zeros(len(log.queries), bool)
    moved[counts.names.query[ranks_of_pair > 1]] = True
    seen = np.zeros(len(log.queries), bool)
    seen[log.page_query.code] = True
    experiments: tuple[str, ...] = ()
    if log.page_intervention is not None:
        present = np.unique(log.page_intervention.code)
        experiments = tuple(str(log.page_intervention.table[one]) for one in present)
    return Facts(
        pages=log.n_pages,
        impressions=len(log),
        clicks=int(per_page.sum()),
        queries=log.n_queries,
        ranks=log.n_positions,
        clicks_per_rank=tuple(np.bincount(log.position - 1, log.click).astype(int).tolist()),
        pages_without_clicks=int(np.sum(per_page == 0)),
        pages_with_several_clicks=int(np.sum(per_page > 1)),
        pages_with_missing_positions=int(gaps.sum()),
        pairs=len(ranks_of_pair),
        pairs_at_several_ranks=int(np.sum(ranks_of_pair > 1)),
        queries_with_one_ranking=int(np.sum(seen & ~moved)),
        groups_of_ranks=_groups(counts, pair),
        rankers=0 if log.page_ranker is None else len(np.unique(log.page_ranker.code)),
        layouts=0 if log.page_layout is None else len(np.unique(log.page_layout.code)),
        experiments=tuple(name for name in experiments if name != NONE),
        columns=tuple(name for name, _ in log.columns()),
    )


def _groups(counts: Aggregate, pair: Ints32) -> int:
    """The number of components of the graph of ranks, whose edges are documents shown at both ranks."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    same = pair[1:] == pair[:-1]
    one, other = counts.position[:-1][same], counts.position[1:][same]
    shown = np.unique(counts.position)
    size = int(shown.max()) + 1
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(size, size))
    _, part = connected_components(graph, directed=False)
    return len(np.unique(part[shown]))
