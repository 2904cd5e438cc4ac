"""A figure over time, such as of a service by model version."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from rankloop._arrays import Array, Floats
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import Ticks, curves_figure, floats, named
from rankloop.report.drawing.panel import Curve, Panel
from rankloop.report.drawing.scale import span
from rankloop.report.drawing.text import shorten
from rankloop.report.figure import Figure

__all__ = ["over_time"]

_LAST = 2.5e11  # seconds since 1970, before the year 9999
_EVENTS = 8  # only the last ones are drawn
_HOUR, _DAY = 3600.0, 86400.0
_STEPS = (60.0, 300.0, 900.0, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120)


def over_time(
    series: Mapping[str, Any] | Any,
    *,
    y: str = "",
    marks: Mapping[str, Any] | None = None,
    percent: bool = False,
    colours: Mapping[str, int] | None = None,
    title: str = "Over time",
    note: str = "",
) -> Figure:
    """Curves of `(times, values)` or `(times, values, low, high)` by name; `marks` are events by name.

    `colours` gives each name the number of its colour, so that it is the same in several figures.

    Times are seconds since 1970, `datetime`, `datetime64` or ISO text; the axis is in UTC.

    >>> over_time({"v1": (["2026-01-01", "2026-01-02"], [0.3, 0.32])}, marks={"v2 serves": "2026-01-02"})
    Figure('Over time')
    """
    made = [_curve(name, one) for name, one in named(series).items()]
    low, high = span([curve.x for curve in made], room=0.0)
    times = ((str(name), float(_seconds([at])[0])) for name, at in (marks or {}).items())
    events = sorted((one for one in times if low <= one[1] <= high), key=lambda one: one[1])[-_EVENTS:]

    def ticks(narrow: bool) -> Ticks:
        return _clock(low, high, 4 if narrow else 8)

    def more(canvas: Canvas, panel: Panel) -> None:
        for number, (name, at) in enumerate(events):
            x, place = panel.x(at), panel.top - 16 * (len(events) - number) + 8
            canvas.line(x, place - 8, x, panel.bottom, "axis", stroke_dasharray="4 3")
            left = x > (panel.left + canvas.width) / 2
            room = (x if left else canvas.width - x) - 8
            canvas.text(
                x - 5 if left else x + 5,
                place,
                shorten(name, room, 11),
                "soft halo",
                size=11,
                anchor="end" if left else "start",
                tip=f"{name}, {_time_text(at)}",
            )

    return curves_figure(
        made,
        title,
        note,
        x_name="UTC",
        y_name=y,
        x_ticks=ticks,
        percent=percent,
        above=16 * len(events),
        x_text=_time_text,
        more=more,
        colours=colours,
    )


def _curve(name: str, given: Any) -> Curve:
    if not isinstance(given, tuple) or len(given) not in (2, 4):
        raise ValueError(f"{name!r} must be (times, values) or (times, values, low, high), got {given!r:.60}")
    parts = [_seconds(given[0]), *(floats(part, f"the curve {name!r}") for part in given[1:])]
    if len({len(one) for one in parts}) != 1:
        raise ValueError(f"{name!r} has {len(parts[0])} times for {len(parts[1])} values")
    order = np.argsort(parts[0], kind="stable")
    return Curve(name, *(part[order] for part in parts))


def _seconds(times: Sequence[Any] | Array) -> Floats:
    """Times in any form as seconds since 1970."""
    return np.array([_second(one) for one in np.asarray(times, object).tolist()], np.float64)


def _second(time: Any) -> float:
    if isinstance(time, int | float) and abs(time) < _LAST:
        return float(time)
    if isinstance(time, np.datetime64):
        return float(time.astype("datetime64[us]").astype(np.int64)) / 1e6
    if isinstance(time, str):
        try:
            time = datetime.fromisoformat(time)
        except ValueError:
            raise ValueError(f"a time is written like 2026-01-31T12:00, got {time!r}") from None
    if not isinstance(time, datetime):
        raise ValueError(f"a time is seconds, a datetime or ISO text, got {time!r}")
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _clock(low: float, high: float, most: int) -> Ticks:
    """Whole minutes, hours, days or months between two times."""
    wide = (high - low) or 1.0
    for step in _STEPS:
        if wide / step <= most:
            first = int(np.ceil(low / step))
            places = [number * step for number in range(first, int(high // step) + 1)]
            form = "%d %b" if step >= _DAY else ("%H:%M" if wide <= _DAY else "%d %b %H:%M")
            return [(at, _moment(at).strftime(form)) for at in places]
    start, end = (12 * one.year + one.month - 1 for one in (_moment(low), _moment(high)))
    every = next((step for step in _MONTHS if (end - start) / step <= most), end - start)
    months = range(-(-start // every) * every, end + 1, every)
    firsts = [datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC) for month in months]
    return [(at.timestamp(), at.strftime("%b %Y")) for at in firsts if low <= at.timestamp() <= high]


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _time_text(at: float) -> str:
    return _moment(at).strftime("%Y-%m-%d %H:%M UTC")
