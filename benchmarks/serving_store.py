"""The event store by itself: events a second into SQLite and PostgreSQL, and the sums of the dashboard.

    python benchmarks/serving_store.py            1,000,000 pages in each database, about ten minutes
    python benchmarks/serving_store.py --quick    20,000 pages

PostgreSQL is a server of its own on loopback, with its usual safety (fsync on). The load generator of
benchmarks/serving.py calls `event_rates` for its own table.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rankloop.clicks import ClickLog
from rankloop.serve.events.shown_page import Event, ShownPage
from rankloop.serve.events.spool import Spool
from rankloop.serve.events.store import Store
from results import benchmark, record

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

PAGES = 1_000_000
SHOWN, FEATURES = 10, 60
QUERIES, USERS, DAYS = 50_000, 100_000, 30
CLICKS_A_PAGE = 0.7
BATCH = 2000  # records in one batch of the spool
SAFE = "-c shared_buffers=256MB -c max_wal_size=2GB"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true")
    options.add_argument("--pages", type=int, default=PAGES)
    given = options.parse_args()
    pages = 20_000 if given.quick else given.pages
    print(f"{pages:,} pages of {SHOWN} documents and {FEATURES} features, {QUERIES:,} queries, one thread")
    for where, what, value, unit in rows(pages):
        record("store", where=where, what=what, value=value, unit=unit)
        print(f"{where:<10} {what:<34} {value:>12,.{0 if value > 100 else 3}f} {unit}", flush=True)


def rows(pages: int) -> Iterator[tuple[str, str, float, str]]:
    """What is measured, one by one."""
    for name, url in databases():
        with Store.open(url) as store:
            yield from ((name, *row) for row in measured(store, pages))
    yield from (("spool", *row) for row in spooling())


def event_rates(events: int = 50_000) -> Iterator[tuple[str, float]]:
    """Events stored a second, by database, in batches as the spool makes them."""
    for name, url in databases():
        with Store.open(url) as store:
            shown = list(traffic(events // 2, features=2))
            for first in range(0, len(shown), BATCH):
                store.put_pages(shown[first : first + BATCH])
            yield name, stored_a_second(store, clicks_on(shown, 2.0)[:events])


def measured(store: Store, pages: int) -> Iterator[tuple[str, float, str]]:
    shown_seconds = event_seconds = 0.0
    all_events = 0
    for first in range(0, pages, 10 * BATCH):
        shown = list(traffic(min(10 * BATCH, pages - first), features=FEATURES, seed=first))
        events = clicks_on(shown, CLICKS_A_PAGE)
        start = time.perf_counter()
        for at in range(0, len(shown), BATCH):
            store.put_pages(shown[at : at + BATCH])
        shown_seconds += time.perf_counter() - start
        event_seconds += len(events) / stored_a_second(store, events)
        all_events += len(events)
    yield "pages stored", pages / shown_seconds, "a second"
    yield "events stored", all_events / event_seconds, "a second"
    week = DAYS - 7
    for what, ask in {
        "by_position, all": lambda: store.by_position(),
        "by_position, 7 days": lambda: store.by_position(since=week * 86_400.0),
        "daily, all": lambda: store.daily(),
        "daily, 7 days": lambda: store.daily(since=week * 86_400.0),
        "worst_queries, all": lambda: store.worst_queries(20),
        "worst_queries, 7 days": lambda: store.worst_queries(20, since=week * 86_400.0),
        "slowest_queries, all": lambda: store.slowest_queries(20),
        "one page": lambda: store.page(f"{7:032x}"),
        "ClickLog.from_store, 7 days": lambda: ClickLog.from_store(store, since=week * 86_400.0),
        "dataset, 7 days": lambda: store.dataset(since=week * 86_400.0),
    }.items():
        start = time.perf_counter()
        ask()
        yield what, time.perf_counter() - start, "s"


def spooling() -> Iterator[tuple[str, float, str]]:
    """The time a caller waits: records on disk, one flush per call."""
    shown = list(traffic(2000, features=FEATURES))
    events = clicks_on(shown, 1.0)
    for size in (1, 20):
        with _folder() as folder, Spool(folder) as spool:
            batches = [events[at : at + size] for at in range(0, len(events), size)][:300]
            start = time.perf_counter()
            for one in batches:
                spool.put(one)
            took = time.perf_counter() - start
            yield f"{size} events a call, acknowledged", sum(map(len, batches)) / took, "a second"
    with _folder() as folder, Spool(folder) as spool:
        start = time.perf_counter()
        for page in shown:
            spool.put([page], durable=False)
        yield "a page, not waiting for the disk", 1e6 * (time.perf_counter() - start) / len(shown), "µs"


def stored_a_second(store: Store, events: list[Event]) -> float:
    start = time.perf_counter()
    for first in range(0, len(events), BATCH):
        store.put_events(events[first : first + BATCH])
    return len(events) / (time.perf_counter() - start)


def traffic(pages: int, *, features: int, seed: int = 0) -> Iterator[ShownPage]:
    """Pages of a month: few queries are frequent, documents differ by query."""
    random = np.random.default_rng(seed)
    query = np.minimum(random.zipf(1.3, pages), QUERIES)
    user = random.integers(USERS, size=pages)
    when = random.uniform(0, DAYS * 86_400, pages)
    seconds = random.gamma(4, 0.005, pages)
    matrix = random.normal(size=(100, SHOWN, features)).astype(np.float32)
    scores = -np.sort(random.normal(size=(100, SHOWN)))
    names = tuple(f"feature {i}" for i in range(features))
    for i in range(pages):
        offset = int(query[i]) * 7 % 1000
        yield ShownPage(
            f"{seed + i:032x}",
            float(when[i]),
            f"query number {query[i]}",
            tuple(f"document-{offset + rank}" for rank in range(SHOWN)),
            scores[i % 100],
            matrix[i % 100],
            names,
            f"v{1 + int(when[i] // 864_000)}",
            user=f"{user[i]:032x}",
            found=1000,
            seconds={"retrieve": 0.7 * float(seconds[i]), "rank": 0.3 * float(seconds[i])},
        )


def clicks_on(shown: list[ShownPage], clicks: float) -> list[Event]:
    random = np.random.default_rng(len(shown))
    wanted = int(clicks * len(shown))
    page = random.integers(len(shown), size=wanted)
    rank = np.minimum(random.geometric(0.4, wanted), SHOWN) - 1
    return [
        Event(f"e{i}", shown[p].page_id, "click", shown[p].documents[r], r + 1, None, shown[p].time + 5.0)
        for i, (p, r) in enumerate(zip(page.tolist(), rank.tolist(), strict=True))
    ]


def databases() -> Iterator[tuple[str, str]]:
    with _folder() as folder:
        yield "sqlite", f"sqlite:///{folder}/events.db"
    from serve.postgres_server import Postgres, postgres_programs

    programs = postgres_programs()
    if programs is None:
        print("no PostgreSQL server on this machine: left out", file=sys.stderr)
        return
    with Postgres(programs, options=SAFE) as server:
        yield "postgresql", server.database()


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rankloop-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    benchmark(main)
