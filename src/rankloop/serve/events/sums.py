"""The sums of the dashboard, each computed from an index of the store in one pass."""

from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Over, Select, case, func, select

from rankloop.serve.events.reading import within
from rankloop.serve.events.records import DAY
from rankloop.serve.events.tables import clicks, pages

__all__ = [
    "DaySum",
    "PositionSum",
    "SlowQuery",
    "WorstQuery",
    "by_position",
    "daily",
    "slowest_queries",
    "worst_queries",
]


class PositionSum(NamedTuple):
    position: int
    shown: int
    clicks: int


class DaySum(NamedTuple):
    """`day` is its first second; `clicked_first` counts pages whose first result was clicked."""

    day: float
    ranker: str
    pages: int
    clicks: int
    clicked_pages: int
    clicked_first: int
    reciprocal_rank: float  # of the highest click, 0 without one, on average
    seconds: float  # on average, of the pages whose time is known
    timed: int  # pages whose time is known
    empty: int  # pages without a result


class WorstQuery(NamedTuple):
    query: str
    pages: int
    clicked_pages: int
    reformulated: int


class SlowQuery(NamedTuple):
    query: str
    pages: int
    seconds: float  # on average
    slowest: float


def by_position(
    connection: Connection, since: float | None, until: float | None, layout: str | None
) -> list[PositionSum]:
    shown = _grouped(pages, (pages.c.shown,), since, until, layout)
    clicked = _grouped(clicks, (clicks.c.position,), since, until, layout)
    lengths = _by_key(connection, shown)
    hits = _by_key(connection, clicked)
    return [
        PositionSum(rank, sum(n for length, n in lengths.items() if length >= rank), hits.get(rank, 0))
        for rank in range(1, max(lengths, default=0) + 1)
    ]


def daily(connection: Connection, since: float | None, until: float | None) -> list[DaySum]:
    more = (
        func.coalesce(func.avg(func.nullif(pages.c.seconds, 0.0)), 0.0),
        func.count(func.nullif(pages.c.seconds, 0.0)),
        func.sum(case((pages.c.shown == 0, 1), else_=0)),
    )
    shown = _grouped(pages, (pages.c.day, pages.c.ranker), since, until, None, *more)
    per_page = (
        select(
            func.min(clicks.c.day).label("day"),
            func.min(clicks.c.ranker).label("ranker"),
            func.count().label("clicks"),
            func.min(clicks.c.position).label("highest"),
        )
        .where(within(clicks, since, until), clicks.c.bot.is_(False))
        .group_by(clicks.c.page_id)  # in the order of the primary key: nothing is sorted
        .subquery()
    )
    clicked = select(
        per_page.c.day,
        per_page.c.ranker,
        func.sum(per_page.c.clicks),
        func.count(),
        func.sum(case((per_page.c.highest == 1, 1), else_=0)),
        func.sum(1.0 / per_page.c.highest),
    ).group_by(per_page.c.day, per_page.c.ranker)
    hits = {(day, ranker): found for day, ranker, *found in connection.execute(clicked)}
    days = []
    for day, ranker, number, seconds, timed, empty in connection.execute(
        shown.order_by(pages.c.day, pages.c.ranker)
    ):
        all_clicks, clicked_pages, first, reciprocal = hits.get((day, ranker), (0, 0, 0, 0.0))
        counts = (int(all_clicks), clicked_pages, int(first), float(reciprocal) / number)
        days.append(DaySum(float(day * DAY), ranker, number, *counts, float(seconds), timed, int(empty)))
    return days


def worst_queries(
    connection: Connection, n: int, since: float | None, until: float | None, seconds: float
) -> list[WorstQuery]:
    shown = _grouped(pages, (pages.c.query,), since, until, None).subquery()
    clicked = (
        select(clicks.c.query, func.count(clicks.c.page_id.distinct()).label("pages"))
        .where(within(clicks, since, until), clicks.c.bot.is_(False))
        .group_by(clicks.c.query)
        .subquery()
    )
    again = _reformulated(since, until, seconds).subquery()
    hits, anew = func.coalesce(clicked.c.pages, 0), func.coalesce(again.c.pages, 0)
    failed = shown.c.number - hits + anew
    statement = (
        select(shown.c.query, shown.c.number, hits, anew)
        .join(clicked, clicked.c.query == shown.c.query, isouter=True)
        .join(again, again.c.query == shown.c.query, isouter=True)
        .where(failed > 0)
        .order_by(failed.desc(), shown.c.query)
        .limit(n)
    )
    return [WorstQuery(*row) for row in connection.execute(statement)]


def slowest_queries(
    connection: Connection, n: int, since: float | None, until: float | None
) -> list[SlowQuery]:
    mean = func.avg(pages.c.seconds).label("mean")
    statement = _grouped(pages, (pages.c.query,), since, until, None, mean, func.max(pages.c.seconds))
    rows = connection.execute(statement.order_by(mean.desc(), pages.c.query).limit(n))
    return [SlowQuery(query, number, float(average), float(most)) for query, number, average, most in rows]


def _grouped(
    table: Any,
    keys: tuple[Any, ...],
    since: float | None,
    until: float | None,
    layout: str | None,
    *more: Any,
) -> Select[Any]:
    """Keys, the number of rows, and more aggregates, over the pages or clicks of people in a window."""
    return (
        select(*keys, func.count().label("number"), *more)
        .where(within(table, since, until, layout), table.c.bot.is_(False))
        .group_by(*keys)
    )


def _reformulated(since: float | None, until: float | None, seconds: float) -> Select[Any]:
    """By query, the pages whose user searched for something else within `seconds`."""
    searches = (
        select(
            pages.c.query,
            pages.c.bot,
            pages.c.time,
            _next(pages.c.time).label("next_time"),
            _next(pages.c.query).label("next_query"),
        )
        .where(within(pages, since, until), pages.c.user.is_not(None))
        .subquery()
    )
    return (
        select(searches.c.query, func.count().label("pages"))
        .where(
            searches.c.bot.is_(False),
            searches.c.next_time <= searches.c.time + seconds,
            searches.c.next_query != searches.c.query,
        )
        .group_by(searches.c.query)
    )


def _next(column: Column[Any]) -> Over[Any]:
    """The value on the same user's next page."""
    return func.lead(column).over(partition_by=pages.c.user, order_by=pages.c.time)


def _by_key(connection: Connection, statement: Select[Any]) -> dict[Any, int]:
    return {row[0]: row[1] for row in connection.execute(statement)}
