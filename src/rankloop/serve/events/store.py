"""The event store: pages, events, and what estimators read from them."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection, select

from rankloop.data import Qrels, RankingDataset
from rankloop.serve.config import InfluenceSettings
from rankloop.serve.events import following, judgments, reading, retention, sums, writing
from rankloop.serve.events.connections import Connections, StoreAway, alone, connected, open_connections
from rankloop.serve.events.experiment_pages import ExperimentPage, clicks_before, experiment_pages
from rankloop.serve.events.export import export
from rankloop.serve.events.judgments import Rating
from rankloop.serve.events.records import page_of
from rankloop.serve.events.shown_page import Event, FollowingPage, ShownPage, swap
from rankloop.serve.events.sums import DaySum, PositionSum, SlowQuery, WorstQuery
from rankloop.serve.events.tables import feature_sets, forgotten, page_features, pages

if TYPE_CHECKING:
    import polars

__all__ = ["Event", "ExperimentPage", "Rating", "ShownPage", "Store", "StoreAway", "swap"]


_USUAL = InfluenceSettings()


class Store:
    """Pages, events, judgments, and the tables of the registry, on SQLite or PostgreSQL.

    Every method is one transaction (or one to write and one to join) and safe to call from any thread.
    `StoreAway` means that the database does not answer. Times are UTC seconds; windows take `since`
    (inclusive) and `until` (exclusive) of the time a page was shown.

    >>> import tempfile
    >>> store = Store.open(f"sqlite:///{tempfile.mkdtemp()}/events.db")
    >>> page = ShownPage("0" * 32, 10.0, "red shoes", ("a", "b"), [2.0, 1.0], [[1.0], [0.5]], ("bm25",), "v1")
    >>> store.put_pages([page])
    1
    >>> store.put_events([Event("e1", page.page_id, "click", "b", time=12.0)] * 2)
    1
    >>> store.click_frame().select("document", "position", "click").rows()
    [('a', 1, 0), ('b', 2, 1)]
    >>> store.close()
    """

    def __init__(self, connections: Connections) -> None:
        self.connections = connections

    @classmethod
    def open(cls, url: str, *, later: bool = False) -> "Store":
        """The store at `sqlite:///path` or `postgresql+psycopg://...`; its tables are made when missing.

        With `later` a database that does not answer is opened too: every method raises `StoreAway` until it
        does.
        """
        return cls(open_connections(url, later=later))

    def close(self) -> None:
        self.connections.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    @property
    def name(self) -> str:
        """Where it is, without its password."""
        return self.connections.name

    @property
    def is_shared(self) -> bool:
        """Whether services on several machines can use it: a server rather than a file."""
        return self.connections.dialect == "postgresql"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that only reads, in one transaction."""
        with connected(self.connections, writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection whose changes are committed together, or not at all."""
        with connected(self.connections, writes=True) as connection:
            yield connection

    @contextmanager
    def alone(self, work: str) -> Iterator[None]:
        """Held by one service at a time on a shared store; an error where another one does this work.

        The database gives it back when the connection ends, however that ends.
        """
        with alone(self.connections, work):
            yield

    def put_pages(self, shown: Sequence[ShownPage]) -> int:
        """Store pages; one that is stored already is not changed. Gives the number of new ones."""
        new = writing.put_pages(self.connections, shown)
        following.join_following(self.connections, [page.page_id for page in shown])
        return new

    def put_following(self, shown: Sequence[FollowingPage]) -> int:
        """Store more results of pages, each rank once; they may come before their page."""
        return following.put_following(self.connections, shown)

    def put_events(self, happened: Sequence[Event]) -> int:
        """Store events, each once; one may come before its page. Gives the number of new ones."""
        return writing.put_events(self.connections, happened)

    def page(self, page_id: str) -> ShownPage | None:
        """A page as it was shown."""
        statement = (
            select(pages, feature_sets.c.names, page_features.c.matrix)
            .join(feature_sets, feature_sets.c.features == pages.c.features)
            .join(page_features, page_features.c.page_id == pages.c.page_id)
            .where(pages.c.page_id == page_id)
        )
        with self.reading() as connection:
            row = connection.execute(statement).mappings().first()
        return None if row is None else page_of(row, row["names"], row["matrix"])

    def click_frame(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        layout: str | None = None,
        include_bots: bool = False,
        influence: InfluenceSettings | None = _USUAL,
        depth: int | None = None,
        seed: int = 0,
    ) -> "polars.DataFrame":
        """One impression a row, as `ClickLog.from_frame` reads it; `depth` leaves out lower positions.

        Repeated clicks on a document of a page count once; without `include_bots` the traffic that
        `serve.events.filters` does not take for people is left out, and of one person or address range what
        is beyond `influence` (None: no bound), drawn by `seed`. `intervention` and `original_position`
        say what was swapped, as in a log of `rankloop.simulate`.
        """
        with self.reading() as connection:
            traffic = reading.read_traffic(
                connection, since, until, layout, influence, bots=include_bots, seed=seed
            )
        frame = reading.click_frame(traffic.pages, traffic.events)
        return frame if depth is None else frame.filter(frame["position"] <= depth)

    def dropped(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        influence: InfluenceSettings | None = _USUAL,
        seed: int = 0,
    ) -> dict[str, int]:
        """How many pages (and, under "time", events) each rule of `click_frame` leaves out."""
        with self.reading() as connection:
            found = reading.read_traffic(connection, since, until, None, influence, bots=False, seed=seed)
        return found.dropped

    def origins(self, *, since: float | None = None, until: float | None = None) -> dict[str, str]:
        """The address ranges of the pages of a window, as keyed hashes, by page id."""
        statement = select(pages.c.page_id, pages.c.origin)
        chosen = statement.where(reading.within(pages, since, until), pages.c.origin.is_not(None))
        with self.reading() as connection:
            return {page_id: str(origin) for page_id, origin in connection.execute(chosen)}

    def dataset(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        layout: str | None = None,
        having: Sequence[str] = (),
        among: Collection[str] | None = None,
    ) -> RankingDataset:
        """Per query every document shown in the window, or on pages `among` it, with the features last shown.

        Labels are 0. Columns are those of the newest pages that have the features `having`; pages that share
        none with them, such as candidates of another engine, are left out.
        """
        with self.reading() as connection:
            return reading.dataset(connection, since, until, layout, having, among)

    def credits(self, experiment: str) -> list[ExperimentPage]:
        """The pages of an experiment, in the order of time, with their clicks; crawlers are left out."""
        with self.reading() as connection:
            return experiment_pages(connection, experiment)

    def clicks_before(self, experiment: str, started: float) -> dict[str, float]:
        """The share of pages with a click of each person of an experiment, before it started."""
        with self.reading() as connection:
            return clicks_before(connection, experiment, started)

    def put_judgment(
        self,
        query: str,
        document: str,
        grade: float | None,
        rater: str = "",
        *,
        reason: str = "",
        source: str = "desk",
        at: float | None = None,
    ) -> None:
        """Store a rater's grade of a document for a query, None for unsure; it replaces their earlier one."""
        now = time.time() if at is None else at
        one = Rating(query, document, rater, grade, reason, source, now)
        with self.writing() as connection:
            judgments.put_judgments(connection, [one])

    def put_ratings(self, ratings: Sequence[Rating]) -> None:
        """Store many grades at once, in their order."""
        with self.writing() as connection:
            judgments.put_judgments(connection, ratings)

    def undo_judgment(self, rater: str) -> Rating | None:
        """Take back the last grade that a rater gave at the desk; the one before it counts again."""
        with self.writing() as connection:
            return judgments.undo(connection, rater)

    def ratings(self, queries: Sequence[str] | None = None) -> list[Rating]:
        """The last word of each rater on each document, of all queries or of these."""
        with self.reading() as connection:
            return judgments.ratings(connection, queries)

    def forget_rater(self, rater: str) -> int:
        """Delete all grades of a rater; gives their number."""
        with self.writing() as connection:
            return judgments.forget_rater(connection, rater)

    def judgments(self) -> Qrels:
        """Everyone's grades, averaged, for offline evaluation."""
        return judgments.averaged(self.ratings())

    def by_position(
        self, *, since: float | None = None, until: float | None = None, layout: str | None = None
    ) -> list[PositionSum]:
        """How often each position was shown and clicked; crawlers are left out here and below."""
        with self.reading() as connection:
            return sums.by_position(connection, since, until, layout)

    def daily(self, *, since: float | None = None, until: float | None = None) -> list[DaySum]:
        """Sums over the pages of each ranker on each UTC day."""
        with self.reading() as connection:
            return sums.daily(connection, since, until)

    def worst_queries(
        self, n: int = 20, *, since: float | None = None, until: float | None = None, seconds: float = 60.0
    ) -> list[WorstQuery]:
        """The queries with most pages that failed: nothing was clicked, or the query was changed.

        `reformulated` counts pages whose user's next search was another one, within `seconds`.
        """
        with self.reading() as connection:
            return sums.worst_queries(connection, n, since, until, seconds)

    def slowest_queries(
        self, n: int = 20, *, since: float | None = None, until: float | None = None
    ) -> list[SlowQuery]:
        """The queries that took longest on average."""
        with self.reading() as connection:
            return sums.slowest_queries(connection, n, since, until)

    def retain(self, days: float, *, now: float | None = None) -> int:
        """Delete what was shown more than `days` ago, with its events; gives the number of pages deleted."""
        return retention.retain(self, days, time.time() if now is None else now)

    def forget(self, user: str, *, now: float | None = None) -> int:
        """Delete everything of a user, by key (see `Signer.user_key`); gives the number of pages.

        Pages that still wait in a spool will not be stored, nor events of pages that were deleted.
        """
        return retention.forget(self, user, time.time() if now is None else now)

    def forget_epoch(self) -> int:
        """The number of the last forgetting; pages carry the one that was known when they were shown."""
        with self.reading() as connection:
            return retention.forget_epoch(connection)

    def forgotten(self, after: int = -1) -> set[str]:
        """The keys of everyone who was forgotten, or of those whose forgetting has a number above `after`."""
        with self.reading() as connection:
            return set(
                connection.execute(select(forgotten.c.user).where(forgotten.c.epoch > after)).scalars()
            )

    def export(self, folder: str | Path, *, since: float | None = None, until: float | None = None) -> None:
        """Write a folder of Parquet files: see `rankloop.serve.events.export`."""
        export(self, folder, since=since, until=until)
