"""Values by name as dots, with whiskers where an interval is known."""

from collections.abc import Mapping

import numpy as np

from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.scale import Scale, number_text, span, tick_texts
from rankloop.report.drawing.style import role_of
from rankloop.report.drawing.text import BOLD, shorten, width_of

__all__ = ["Interval", "dots"]

Interval = tuple[float, float, float]
_ROW = 24


def dots(
    canvas: Canvas,
    heading: str,
    rows: Mapping[str, Interval],
    *,
    first: int = 0,
    signed: bool = False,
    colours: Mapping[str, int] | None = None,
) -> None:
    """One row per name: (value, low, high). `first` is the first colour; `signed` values are differences.

    `colours` are the numbers of the colours by name, by default in order.
    """
    canvas.y += 16
    canvas.text(
        0, canvas.y - 2, shorten(heading, canvas.width, 13 * BOLD), size=13, tip=heading, font_weight=600
    )
    canvas.y += 4
    texts = {
        name: ("+" if signed and found[0] > 0 else "") + number_text(found[0]) for name, found in rows.items()
    }
    most = canvas.width * (0.36 if canvas.narrow else 0.3)
    left = min(max(map(width_of, rows), default=0), most) + 10
    right = canvas.width - max(map(width_of, texts.values()), default=0) - 10
    low, high = span(rows.values(), within=(0.0,) if signed else (), room=0.08)
    scale = Scale(low, high, left + 8, right)
    top, bottom = canvas.y, canvas.y + _ROW * len(rows)
    ticks = scale.ticks(4 if canvas.narrow else 6)
    for value, text in zip(ticks, tick_texts(ticks), strict=True):
        x = scale(value)
        canvas.line(x, top, x, bottom, "axis" if signed and value == 0 else "rule")
        canvas.text(x, bottom + 14, text, "soft", size=11, anchor="middle")
    for number, (name, (value, lowest, highest)) in enumerate(rows.items()):
        y, series = top + _ROW * (number + 0.5), (colours or {}).get(name, first + number)
        canvas.text(0, y + 4, shorten(name, left - 8), tip=name)
        canvas.text(canvas.width, y + 4, texts[name], "soft", anchor="end")
        if np.isfinite(lowest) and np.isfinite(highest):
            a, b = scale(lowest), scale(highest)
            canvas.line(a, y, b, y, role_of(series), stroke_width=2)
            for x in (a, b):
                canvas.line(x, y - 4, x, y + 4, role_of(series), stroke_width=2)
        if np.isfinite(value):
            bounds = f", between {number_text(lowest)} and {number_text(highest)}" if lowest == lowest else ""
            canvas.marker(
                scale(value), y, series, role_of(series), size=4.5, tip=f"{name}: {texts[name]}{bounds}"
            )
    canvas.y = bottom + 26
