"""Click rates by rank."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop._ratio import ratio
from rankloop.clicks.columns.wilson import wilson
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import curves_text, empty_note, floats, named, rank_figure, ranks_axis
from rankloop.report.drawing.panel import Curve, Panel
from rankloop.report.drawing.scale import span
from rankloop.report.figure import Figure

__all__ = ["ctr_by_position"]


def ctr_by_position(
    clicks: Mapping[str, Any] | Any,
    *,
    title: str = "Clicks by position",
    note: str = "Share of impressions that were clicked, with its 95 % interval.",
) -> Figure:
    """The click rate of each rank: bars for one log, curves for several by name.

    A log is a `ClickLog`, or a tuple of clicks and impressions, each one number per rank.

    >>> ctr_by_position(([30, 12, 5], [100, 100, 90]))
    Figure('Clicks by position')
    """
    made = [_curve(name, one) for name, one in named(clicks).items()]
    depth = max((len(curve.y) for curve in made), default=1)
    if len(made) > 1:
        return rank_figure(made, title, note, percent=True)

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not made or not np.isfinite(made[0].y).any():
            empty_note(canvas, "There are no impressions yet.")
            return
        _bars(canvas, made[0], depth)

    return Figure(title, f"{note} {curves_text(made)}", draw)


def _bars(canvas: Canvas, curve: Curve, depth: int) -> None:
    assert curve.low is not None
    assert curve.high is not None
    panel = Panel(
        canvas,
        (0.4, depth + 0.6),
        span([curve.y, curve.high], within=(0.0,)),
        x_name="position",
        y_name="click rate",
        height=200 if canvas.narrow else 240,
        x_ticks=ranks_axis(depth)(canvas.narrow),
        percent=True,
    )
    wide = min((panel.x(2) - panel.x(1)) * 0.7, 60)
    for rank, value, low, high in zip(curve.x, curve.y, curve.low, curve.high, strict=True):
        if np.isfinite(value):
            top, x = panel.y(value), panel.x(rank)
            tip = f"position {rank:.0f}: {value:.2%} clicked, between {low:.2%} and {high:.2%}"
            canvas.rect(x - wide / 2, top, wide, panel.bottom - top, "s1", tip, rx=1.5, fill_opacity=0.75)
            if wide > 5:
                panel.whisker(x, panel.y(low), panel.y(high), "ink")


def click_rates(log: Any) -> tuple[Floats, Floats, Floats]:
    """The click rate of each rank of a log and its interval: over people where the log knows them."""
    shown = np.bincount(log.position, minlength=2)[1:].astype(np.float64)
    hits = np.bincount(log.position, log.click, minlength=2)[1:].astype(np.float64)
    share, low, high = wilson(hits, shown)
    if getattr(log, "page_user", None) is None or len(np.unique(log.page_user.code)) < 2:
        return share, low, high
    person = np.repeat(log.page_user.code, log.lengths)
    for rank in np.flatnonzero(shown):
        rows = log.position == rank + 1
        above, below = (
            np.asarray(np.bincount(person[rows], one), np.float64)
            for one in (log.click[rows], np.ones(rows.sum()))
        )
        found = ratio(above[below > 0], below[below > 0], kind="rate")
        low[rank], high[rank] = max(found.low, 0.0), min(found.high, 1.0)
    return share, low, high


def _curve(name: str, given: Any) -> Curve:
    if hasattr(given, "position") and hasattr(given, "click"):
        shares = click_rates(given)
        return Curve(name, np.arange(1.0, len(shares[0]) + 1), *shares)
    if isinstance(given, tuple) and len(given) == 2:
        hits, shown = (floats(part, f"clicks and impressions of {name!r}") for part in given)
    else:
        raise ValueError(f"wanted a click log, or (clicks, impressions) by rank, got {type(given).__name__}")
    if len(hits) != len(shown) or (hits > shown).any():
        raise ValueError(
            "clicks and impressions need one number per rank each, and no rank more clicks than impressions"
        )
    return Curve(name, np.arange(1.0, len(hits) + 1), *wilson(hits, shown))
