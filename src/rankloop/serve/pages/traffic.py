"""Panels about traffic: clicks by position and by day, and queries that fail."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rankloop.report import ctr_by_position, over_time
from rankloop.serve.pages.behind import behind_href
from rankloop.serve.pages.colours import colours_of, series_of
from rankloop.serve.pages.panels import Cell, Head, Panel, drawn, table
from rankloop.serve.pages.rendering import count, duration, percent

if TYPE_CHECKING:
    from rankloop.serve.desk.acts import Act
    from rankloop.serve.events.sums import DaySum, PositionSum, SlowQuery, WorstQuery

__all__ = ["by_day", "by_position", "slowest", "worst"]

ENOUGH = 10  # pages of a version on a day
RANKS = 10  # in the table


def by_position(rows: "Sequence[PositionSum]", days: int) -> Panel:
    """How often each position is clicked."""
    title = "Clicks by position"
    last = max((one.position for one in rows if one.shown), default=0)
    if not last:
        return Panel("positions", title, "No page was shown yet.")
    clicks, shown = [0] * last, [0] * last
    for one in rows:
        if one.shown:
            clicks[one.position - 1], shown[one.position - 1] = one.clicks, one.shown
    figure = drawn(ctr_by_position((clicks, shown), title="", note=""), title)
    return Panel(
        "positions",
        title,
        "The share of results that were clicked, with its 95\N{NO-BREAK SPACE}% interval if no person"
        " makes many pages.",
        figure,
        heads=(Head("Rank", True), Head("Shown", True), Head("Clicks", True), Head("Share", True)),
        rows=table(
            (
                str(one.position),
                count(one.shown),
                Cell(count(one.clicks), href=behind_href(days, position=one.position)),
                percent(one.clicks / one.shown),
            )
            for one in rows[:RANKS]
            if one.shown
        ),
        folded=True,
    )


def by_day(rows: "Sequence[DaySum]", past: "Sequence[Act]") -> Panel:
    """The mean reciprocal rank of clicks of each version, day by day."""
    title = "Versions over time"
    enough = sorted((one for one in rows if one.pages >= ENOUGH), key=lambda row: row.day)
    if len({one.day for one in enough}) < 2:
        return Panel("days", title, f"This needs two days with {ENOUGH} pages each.", broad=True)
    series: dict[str, tuple[list[float], list[float]]] = {}
    for one in enough:
        times, values = series.setdefault(one.ranker, ([], []))
        times.append(one.day)
        values.append(one.reciprocal_rank)
    marks = {
        f"{after} serves{' again' * ('back' in one.act)}": min(one.time, enough[-1].day)  # today's too
        for one in past
        if (after := one.detail.get("after")) and after != one.detail.get("before")
    }
    shared = any(" + " in name for name in series)
    ordered = {name: series[name] for name in sorted(series, key=series_of)}
    figure = over_time(ordered, y="mean reciprocal rank", marks=marks, colours=colours_of(series), title="")
    text = (
        "The reciprocal rank of the highest click, 0 without one: the mean of each version's pages of a day, "
        f"on days with at least {ENOUGH}. Versions serve other people on other days: compare them in an "
        "experiment, or on the same days in the table below."
        + (" Two versions share interleaved pages." if shared else "")
    )
    return Panel("days", title, text, drawn(figure, title), broad=True)


def worst(rows: "Sequence[WorstQuery]", days: int) -> Panel:
    """The queries whose pages fail most."""
    cells = [
        (
            _query(one.query),
            Cell(count(one.pages), href=behind_href(days, q=one.query)),
            Cell(percent(1 - one.clicked_pages / one.pages), href=behind_href(days, q=one.query, clicked=0)),
            percent(one.reformulated / one.pages),
        )
        for one in rows
    ]
    text = "No click, or the query was changed within a minute."
    return _queries("worst", "Queries that fail", text, ("Pages", "Without a click", "Changed"), cells)


def slowest(rows: "Sequence[SlowQuery]", days: int) -> Panel:
    """The slowest queries; pages stored without a time are left out."""
    cells = [
        (
            _query(one.query),
            Cell(count(one.pages), href=behind_href(days, q=one.query)),
            duration(one.seconds),
            duration(one.slowest),
        )
        for one in rows
        if one.slowest > 0
    ]
    text = "Time to answer, the longest on average first."
    return _queries("slowest", "Slow queries", text, ("Pages", "Mean", "Slowest"), cells)


def _queries(
    id: str, title: str, text: str, numbers: Sequence[str], rows: Sequence[Sequence[str | Cell]]
) -> Panel:
    heads = (Head("Query"), *(Head(name, number=True) for name in numbers))
    return Panel(id, title, text if rows else "None so far.", heads=heads, rows=table(rows))


def _query(text: str) -> Cell:
    return Cell(text or "(nothing typed)", href="/compare?" + urlencode({"q": text}) if text else "")
