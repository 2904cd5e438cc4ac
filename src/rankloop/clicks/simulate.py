"""Sessions that never happened: a logger shows, a user clicks."""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rankloop._progress import progress
from rankloop.clicks.aggregate import Aggregate
from rankloop.clicks.click_log import ClickLog
from rankloop.clicks.click_model import ClickModel
from rankloop.clicks.columns.columns import Coded
from rankloop.clicks.simulation.sessions import DESIGNS
from rankloop.clicks.simulation.stage import Stage, stage_of
from rankloop.data import RankingDataset

__all__ = ["simulate", "simulate_aggregate"]


class Scorer(Protocol):
    def predict(self, X: Any) -> Any: ...


def simulate(
    data: RankingDataset,
    *,
    logging_policy: ArrayLike | Scorer,
    user: str | ClickModel = "pbm",
    sessions: int,
    k: int = 10,
    randomize: str | None = None,
    rate: float = 1.0,
    top: int | None = None,
    temperature: float | None = None,
    ranker: str | None = None,
    layout: str | None = None,
    seed: int = 0,
) -> ClickLog:
    """A log of `sessions` pages: a query is drawn (by `query_weight` if it has one), ranked, shown, clicked.

    `logging_policy` is a ranker or one score per row; ties are broken at random, once. With a `temperature`
    every page is a draw from the Plackett-Luce distribution of scores / temperature. A share `rate` of the
    pages is part of an experiment: `randomize="swap"` exchanges rank 1 with a rank 2..`top` half the time,
    `"adjacent"` a rank and the next one half the time, `"fairpairs"` each of the pairs (1,2), (3,4).. or
    (2,3), (4,5).. half the time, and `"shuffle"` orders the first `top` at random. The log says so in
    `intervention` ("swap 1-4", also when the coin left the page as it was; "none") and `original_position`.

    Page i depends on the seed and on i only: neither on threads nor on how many pages are drawn.

    >>> data = RankingDataset.from_groups(np.zeros((6, 1)), [0, 1, 2, 2, 1, 0], [3, 3])
    >>> simulate(data, logging_policy=data.y, user="navigational", sessions=1000, k=2, seed=0)
    ClickLog(1,000 pages, 2,000 impressions, 722 clicks, 2 queries)
    """
    if sessions < 1:
        raise ValueError(f"sessions is at least 1, got {sessions}")
    stage = stage_of(data, logging_policy, user, k, randomize, rate, top, temperature, layout, seed)
    return _log(stage, 0, sessions, ranker, layout)


def simulate_aggregate(
    data: RankingDataset, *, sessions: int, chunk: int = 1_000_000, **options: Any
) -> Aggregate:
    """The aggregate of the log `simulate` would give, in the memory of one `chunk` of pages.

    >>> data = RankingDataset.from_groups(np.zeros((3, 1)), [0, 1, 2], [3])
    >>> simulate_aggregate(data, sessions=5000, logging_policy=data.y, chunk=1000)
    Aggregate(3 cells, 15,000 impressions, 2,002 clicks)
    """
    if sessions < 1 or chunk < 1:
        raise ValueError(f"sessions and chunk are at least 1, got {sessions} and {chunk}")
    defaults: dict[str, Any] = {
        "user": "pbm",
        "k": 10,
        "randomize": None,
        "rate": 1.0,
        "top": None,
        "temperature": None,
        "layout": None,
        "seed": 0,
    }
    options.pop("ranker", None)
    wrong = [name for name in options if name not in (*defaults, "logging_policy")]
    if wrong or "logging_policy" not in options:
        raise ValueError(f"simulate takes logging_policy and {', '.join(defaults)}; got {', '.join(options)}")
    stage = stage_of(data, **{**defaults, **options})
    depth = stage.depth
    counts = np.zeros((2, data.n_documents * depth), np.int64)
    with progress("simulating", sessions) as advance:
        for first, last in _chunks(sessions, chunk):
            _, _, row, rank, click, _, _ = stage.play(first, last)
            key = row.astype(np.int64) * depth + (rank - 1)
            counts[0] += np.bincount(key, minlength=counts.shape[1])
            counts[1] += np.bincount(key[click == 1], minlength=counts.shape[1])
            advance(last - first)
    cell = np.flatnonzero(counts[0])
    row, rank = np.divmod(cell, depth)
    queries, documents = stage.coded_rows()
    order = np.lexsort((rank, documents.code[row], queries.code[row]))
    cell, row, rank = cell[order], row[order], rank[order]
    return Aggregate(
        queries.take(row), documents.take(row), (rank + 1).astype(np.int32), counts[0][cell], counts[1][cell]
    )


def _log(stage: Stage, first: int, last: int, ranker: str | None, layout: str | None) -> ClickLog:
    query, offsets, row, rank, click, experiment, original = stage.play(first, last)
    pages = len(query)
    _, documents = stage.coded_rows()
    columns: dict[str, Any] = {}
    for name, value in (("ranker", ranker), ("layout", layout)):
        if value is not None:
            columns[f"page_{name}"] = Coded(np.array([value]), np.zeros(pages, np.int32))
    if stage.design > 0:
        names = np.array(_experiments(stage.design, stage.depth, stage.top))
        columns |= {"page_intervention": Coded(names, experiment), "original_position": original}
    return ClickLog._trusted(
        offsets=offsets,
        sessions=np.arange(first, last),
        page_query=Coded(stage.data.qid, query),
        row_document=Coded(documents.table, row if stage.data.docid is None else documents.code[row]),
        position=rank,
        click=click,
        **columns,
    )


def _experiments(design: int, depth: int, top: int) -> list[str]:
    """What the kernel's number of an experiment means."""
    name = list(DESIGNS)[design]
    if name == "swap":
        return ["none", *(f"swap 1-{rank}" for rank in range(2, top + 1))]
    if name == "adjacent":
        return ["none", *(f"swap {rank}-{rank + 1}" for rank in range(1, top))]
    if name == "fairpairs":
        return ["none", "fairpairs odd", "fairpairs even"]
    return ["none", f"shuffle {top}"]


def _chunks(n: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, size):
        yield first, min(first + size, n)
