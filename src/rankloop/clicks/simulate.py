"""Sessions that never happened: a logger shows, a user clicks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._jit import over_lists
from rankloop._names import one_of
from rankloop._progress import progress
from rankloop.clicks import _columns
from rankloop.clicks._behaviour import Behaviour
from rankloop.clicks._columns import Coded
from rankloop.clicks._pages import pages_of
from rankloop.clicks._random import key_of
from rankloop.clicks._rows import dataset_documents
from rankloop.clicks._sessions import DESIGNS, choose_queries, run_sessions
from rankloop.clicks.aggregate import Aggregate
from rankloop.clicks.ctr import RankDocumentCTR
from rankloop.clicks.log import ClickLog
from rankloop.clicks.model import ClickModel
from rankloop.clicks.users import user as user_named
from rankloop.data import RankingDataset

__all__ = ["simulate", "simulate_aggregate"]


class Scorer(Protocol):
    def predict(self, X: Any) -> Any: ...


def simulate(
    data: RankingDataset,
    *,
    shown_by: ArrayLike | Scorer,
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

    `shown_by` is a ranker or one score per row; ties are broken at random, once. With a `temperature`
    every page is a draw from the Plackett-Luce distribution of scores / temperature. A share `rate` of the
    pages is part of an experiment: `randomize="swap"` exchanges rank 1 with a rank 2..`top` half the time,
    `"adjacent"` a rank and the next one half the time, `"fairpairs"` each of the pairs (1,2), (3,4).. or
    (2,3), (4,5).. half the time, and `"shuffle"` orders the first `top` at random. The log says so in
    `intervention` ("swap 1-4", also when the coin left the page as it was; "none") and `original_position`.

    Page i depends on the seed and on i only: neither on threads nor on how many pages are drawn.

    >>> data = RankingDataset.from_groups(np.zeros((6, 1)), [0, 1, 2, 2, 1, 0], [3, 3])
    >>> simulate(data, shown_by=data.y, user="navigational", sessions=1000, k=2, seed=0)
    ClickLog(1,000 pages, 2,000 impressions, 722 clicks, 2 queries)
    """
    if sessions < 1:
        raise ValueError(f"sessions is at least 1, got {sessions}")
    stage = _stage(data, shown_by, user, k, randomize, rate, top, temperature, layout, seed)
    return _log(stage, 0, sessions, ranker, layout)


def simulate_aggregate(
    data: RankingDataset, *, sessions: int, chunk: int = 1_000_000, **options: Any
) -> Aggregate:
    """The aggregate of the log `simulate` would give, in the memory of one `chunk` of pages.

    >>> data = RankingDataset.from_groups(np.zeros((3, 1)), [0, 1, 2], [3])
    >>> simulate_aggregate(data, sessions=5000, shown_by=data.y, chunk=1000)
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
    wrong = [name for name in options if name not in (*defaults, "shown_by")]
    if wrong or "shown_by" not in options:
        raise ValueError(f"simulate takes shown_by and {', '.join(defaults)}; got {', '.join(options)}")
    stage = _stage(data, **{**defaults, **options})
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


@dataclass(frozen=True, eq=False)
class _Stage:
    """Everything that is the same for all sessions."""

    data: RankingDataset
    behaviour: Behaviour
    depth: int
    logger: int  # 0 a fixed order, 1 an exponential race, 2 Gumbel noise
    scores: NDArray[np.float64]  # by the temperature; for the race exp(-score)
    order: NDArray[np.int32]  # rows of each query, best first
    design: int
    rate: float
    top: int
    cumulative: NDArray[np.float64]
    key: int

    def play(self, first: int, last: int) -> tuple[NDArray[Any], ...]:
        """Query, offsets, row, position, click, experiment and original position of pages first..last."""
        data = self.data
        query = np.empty(last - first, np.int32)
        choose_queries(np.uint64(self.key), first, self.cumulative, query)
        lengths = np.minimum(data.lengths, self.depth)[query]
        offsets = np.zeros(last - first + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        n = int(offsets[-1])
        row, rank, click = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int8)
        moved = self.design > 0
        experiment = np.zeros(last - first if moved else 0, np.int32)
        original = np.empty(n if moved else 0, np.int32)
        numbers = self.behaviour._numbers()

        def work(a: int, b: int) -> None:
            run_sessions(
                a, b, np.uint64(self.key), first, query, offsets, data.offsets, self.order, self.scores,
                self.logger, self.design, self.rate, self.top,
                row, rank, click, experiment, original, *numbers,
            )  # fmt: skip

        over_lists(work, offsets)
        return query, offsets, row, rank, click, experiment, original

    def coded_rows(self) -> tuple[Coded, Coded]:
        """For each row of the data set its query and its document, as a log codes them."""
        data = self.data
        documents = dataset_documents(data)
        coded = (
            Coded(documents, documents.astype(np.int32)) if data.docid is None else _columns.code(documents)
        )
        return Coded(data.qid, data.row_query.astype(np.int32)), coded


def _log(stage: _Stage, first: int, last: int, ranker: str | None, layout: str | None) -> ClickLog:
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


def _stage(
    data: RankingDataset,
    shown_by: Any,
    user: str | ClickModel,
    k: int,
    randomize: str | None,
    rate: float,
    top: int | None,
    temperature: float | None,
    layout: str | None,
    seed: int,
) -> _Stage:
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    if temperature is not None and not temperature > 0:
        raise ValueError(f"temperature is above 0 (None shows the same ranking always), got {temperature}")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate is a share between 0 and 1, got {rate}")
    depth = int(min(k, data.lengths.max()))
    design = DESIGNS[one_of("randomize", randomize or "none", DESIGNS)]
    first = depth if top is None else min(top, depth)
    if design > 0 and first < 2:
        raise ValueError(f"an experiment needs at least two ranks; k is {k} and top is {top}")
    scores = _scores(shown_by, data)
    ties = np.random.default_rng(seed).random(len(scores))
    order = np.lexsort((ties, -scores, data.row_query)).astype(np.int32)
    weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight.astype(np.float64)
    if not weight.sum() > 0:
        raise ValueError("every query has weight 0; there is nothing to draw")
    cumulative = np.cumsum(weight) / weight.sum()
    cumulative[-1] = 1.0
    return _Stage(
        data,
        _reader(user, data, depth, layout),
        depth,
        *_noisy(scores, temperature, data),
        order,
        design,
        rate,
        first,
        cumulative,
        key_of(seed),
    )


def _reader(user: str | ClickModel, data: RankingDataset, depth: int, layout: str | None) -> Behaviour:
    most = int(max(data.y.max(), 1)) if data.n_documents else 1
    model = user_named(user, max_grade=max(most, 4)) if isinstance(user, str) else user
    at = getattr(model, "at", None)
    if at is not None:
        if layout is None:
            raise ValueError("this user depends on the layout of the page; pass layout=")
        model = at(layout)
    if isinstance(model, RankDocumentCTR):
        raise ValueError("RankDocumentCTR knows each document at each rank only; simulate with another model")
    return model._behaviour(pages_of(data), depth)


def _scores(shown_by: Any, data: RankingDataset) -> NDArray[np.float64]:
    given = shown_by.predict(data) if hasattr(shown_by, "predict") else shown_by
    scores = np.asarray(given, np.float64)
    if scores.shape != (data.n_documents,):
        raise ValueError(f"shown_by needs one score per row ({data.n_documents}), got shape {scores.shape}")
    if not np.all(np.isfinite(scores)):
        raise ValueError(f"shown_by must be finite, got {scores[~np.isfinite(scores)][0]}")
    return scores


def _noisy(
    scores: NDArray[np.float64], temperature: float | None, data: RankingDataset
) -> tuple[int, NDArray[np.float64]]:
    """How rankings are drawn, and the numbers for it."""
    if temperature is None:
        return 0, scores
    scaled = scores / temperature
    below = np.repeat(np.maximum.reduceat(scaled, data.offsets[:-1]), data.lengths) - scaled
    return (1, np.exp(below)) if below.max() < 600 else (2, scaled)


def _chunks(n: int, size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, size):
        yield first, min(first + size, n)
