"""Simulated pages and clicks in the event store, as the service would have recorded them."""

import time
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from rankloop._arrays import Ints
from rankloop.clicks import ClickLog
from rankloop.clicks.intervention import Swap, intervention
from rankloop.data import RankingDataset
from rankloop.serve.events.shown_page import Event, ShownPage, swap
from rankloop.serve.events.store import Store

__all__ = ["clicks_on", "documents_of", "put_people", "shown_pages"]

_AT_ONCE = 2000  # pages in one transaction
_SECONDS = 14 * 86_400.0  # within which people searched
_CLICK_AFTER = 3.0  # seconds of reading per rank before a click


def put_people(
    store: Store,
    log: ClickLog,
    data: RankingDataset,
    *,
    version: str,
    now: float | None = None,
    seed: int = 0,
) -> int:
    """Record the pages of a simulated log as if shown within the last two weeks; gives how many were new."""
    pages: list[ShownPage] = []
    events: list[Event] = []
    new = 0
    until = time.time() if now is None else now
    for page, clicks in shown_pages(
        log, data, version=version, since=until - _SECONDS, until=until, seed=seed
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


def shown_pages(
    log: ClickLog, data: RankingDataset, *, version: str, since: float, until: float, seed: int = 0
) -> Iterator[tuple[ShownPage, list[Event]]]:
    """Every page of a log with its clicks; users and times are drawn at random."""
    random = Random(f"people {seed}")
    rows = log.rows(data)
    documents = documents_of(data)
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
            layout="page",  # as the web page: a visitor's clicks are learned from with theirs
            user=f"{random.randrange(2000):032x}",
            found=int(data.lengths[data.row_query[shown[0]]]),
            **_exchange(log, page, first, last),
        )
        yield made, clicks_on(made, np.flatnonzero(log.click[first:last]))


def clicks_on(page: ShownPage, clicked: Ints) -> list[Event]:
    """Clicks by index from the top, a few seconds apart."""
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


def documents_of(data: RankingDataset) -> list[str]:
    """The document id of each row, or its number."""
    return [str(id) for id in (range(data.n_documents) if data.docid is None else data.docid.tolist())]


def _exchange(log: ClickLog, page: int, first: int, last: int) -> dict[str, Any]:
    """The swap of two adjacent results on a page, where the log records one."""
    if log.page_intervention is None or log.original_position is None:
        return {}
    found = intervention(log.page_intervention.table[log.page_intervention.code[page]])
    if not isinstance(found, Swap) or found.high > last - first:
        return {}
    swapped = int(log.original_position[first + found.low - 1]) != found.low
    return {"policy": "swap", "randomness": swap(found.low, found.high, swapped=swapped)}
