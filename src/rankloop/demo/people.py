"""Simulated people in the event store: their pages and clicks as the service would have recorded them."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import insert

from rankloop.clicks import ClickLog, ClickModel
from rankloop.data import RankingDataset
from rankloop.demo.collection import PAGE
from rankloop.interleaving import method
from rankloop.serve.experiments import Experiment
from rankloop.serve.shown import Event, ShownPage, swap
from rankloop.serve.store import Store
from rankloop.serve.tables import experiments

__all__ = ["put_duel", "put_people", "shown_pages"]

_AT_ONCE = 2000  # pages in one transaction
_CLICK_AFTER = 3.0  # seconds a rank, for reading


def put_people(
    store: Store,
    log: ClickLog,
    data: RankingDataset,
    *,
    version: str,
    days: float = 14.0,
    now: float | None = None,
    seed: int = 0,
) -> int:
    """Record the pages of a simulated log as if they had been shown in the last `days`; gives how many."""
    pages: list[ShownPage] = []
    events: list[Event] = []
    new = 0
    until = time.time() if now is None else now
    for page, clicks in shown_pages(
        log, data, version=version, since=until - 86_400 * days, until=until, seed=seed
    ):
        pages.append(page)
        events += clicks
        if len(pages) == _AT_ONCE:
            new += store.put_pages(pages)
            store.put_events(events)
            pages, events = [], []
    new += store.put_pages(pages)
    store.put_events(events)
    return new


def put_duel(
    store: Store,
    data: RankingDataset,
    rankers: Mapping[str, Any],
    person: ClickModel,
    *,
    pages: int,
    days: float = 1.0,
    now: float | None = None,
    seed: int = 0,
) -> str:
    """Record an interleaving of two rankers, by version, that has ended; gives the id of the experiment."""
    random = Random(f"duel {seed}")
    until = time.time() if now is None else now
    since = until - 86_400 * days
    a, b = rankers
    one = Experiment(
        f"{random.getrandbits(48):012x}",
        "interleave",
        a,
        b,
        1.0,
        "team_draft",
        seed,
        since,
        ended=until,
        note="simulated people",
    )
    how = method(one.method, seed=seed)
    names = _documents(data)
    tops = [_tops(data, ranker.predict(data)) for ranker in rankers.values()]
    shown, labels = [], []
    for at in sorted(random.uniform(since, until - 120) for _ in range(pages)):
        query, page_id = random.randrange(data.n_queries), f"{random.getrandbits(128):032x}"
        page = how.combine([[names[row] for row in top[query]] for top in tops], PAGE, key=page_id)
        place = {names[row]: row for top in tops for row in top[query]}
        rows = [place[document] for document in page.documents]
        labels.append(data.y[rows])
        shown.append(
            ShownPage(
                page_id,
                at,
                str(data.qid[query]),
                tuple(page.documents),
                -np.arange(float(len(rows))),
                data.X[rows],
                data.feature_names or (),
                a,
                layout="list",
                user=f"{random.randrange(2000):032x}",
                policy="interleave",
                experiment=one.id,
                randomness=page.to_dict(),
                found=int(data.lengths[query]),
            )
        )
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in labels])))
    clicked = np.asarray(person.sample(np.concatenate(labels), offsets=offsets, seed=seed), bool)
    with store.writing() as connection:
        connection.execute(insert(experiments), asdict(one))
    store.put_pages(shown)
    store.put_events(
        [
            event
            for page, first, last in zip(shown, offsets[:-1], offsets[1:], strict=True)
            for event in _events(page, np.flatnonzero(clicked[first:last]))
        ]
    )
    return one.id


def shown_pages(
    log: ClickLog, data: RankingDataset, *, version: str, since: float, until: float, seed: int = 0
) -> Iterator[tuple[ShownPage, list[Event]]]:
    """Every page of a log with its clicks; people are drawn at random, and all of them read a while."""
    random = Random(f"people {seed}")
    rows = log.rows(data)
    documents = _documents(data)
    names = data.feature_names or tuple(f"feature {at}" for at in range(data.n_features))
    times = sorted(random.uniform(since, until - 120) for _ in range(log.n_pages))
    queries = log.queries[log.page_query.code]
    for page in range(log.n_pages):
        first, last = int(log.offsets[page]), int(log.offsets[page + 1])
        shown = rows[first:last]
        made = ShownPage(
            f"{random.getrandbits(128):032x}",
            times[page],
            str(queries[page]),
            tuple(documents[row] for row in shown),
            -np.arange(float(last - first)),
            data.X[shown],
            names,
            version,
            layout="list",
            user=f"{random.randrange(2000):032x}",
            found=int(data.lengths[data.row_query[shown[0]]]),
            **_chance(log, page, first, last),
        )
        yield made, _events(made, np.flatnonzero(log.click[first:last]))


def _events(page: ShownPage, clicked: NDArray[np.int64]) -> list[Event]:
    return [
        Event(
            f"{page.page_id[:16]}-{at}",
            page.page_id,
            "click",
            page.documents[at],
            position=int(at) + 1,
            time=page.time + _CLICK_AFTER * (at + 1),
        )
        for at in clicked.tolist()
    ]


def _documents(data: RankingDataset) -> list[str]:
    return [str(id) for id in (range(data.n_documents) if data.docid is None else data.docid.tolist())]


def _tops(data: RankingDataset, scores: NDArray[np.float64]) -> list[list[int]]:
    """The rows of each query's best documents."""
    order = np.lexsort((-scores, data.row_query))
    spans = zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)
    return [order[first : min(last, first + PAGE)].tolist() for first, last in spans]


def _chance(log: ClickLog, page: int, first: int, last: int) -> dict[str, Any]:
    """What chance did to a page: the exchange of two neighbours, where the log tells of one."""
    if log.page_intervention is None or log.original_position is None:
        return {}
    told = str(log.page_intervention.table[log.page_intervention.code[page]])
    if not told.startswith("swap "):
        return {}
    low, high = (int(rank) for rank in told.removeprefix("swap ").split("-"))
    if high > last - first:
        return {}
    moved = int(log.original_position[first + low - 1]) != low
    return {"policy": "swap", "randomness": swap(low, high, swapped=moved)}
