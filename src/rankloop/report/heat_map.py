"""A table of rates as colours."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note
from rankloop.report.drawing.scale import number_text
from rankloop.report.drawing.text import shorten, width_of
from rankloop.report.figure import Figure

__all__ = ["heat_map"]


def heat_map(
    values: Any,
    *,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    by: str = "query",
    k: int = 25,
    percent: bool = True,
    row_name: str | None = None,
    title: str | None = None,
    note: str = "The stronger the colour, the higher the click rate; blank where there are no impressions.",
) -> Figure:
    """Cells coloured by value, nan left blank.

    `values` is a table (rows × columns), or a `ClickLog`, of which the `k` most often shown
    queries (`by="query"`) or documents (`by="document"`) become rows and positions become columns.

    >>> heat_map([[0.3, 0.1], [0.2, float("nan")]], rows=["shoes", "coats"], columns=[1, 2])
    Figure('Click rate by query and position')
    """
    if hasattr(values, "position") and hasattr(values, "click"):
        table, rows = _rates(values, one_of("by", by, ("document", "query")), k)
        row_name = row_name or by
    else:
        table = np.asarray(values, np.float64)
    if table.ndim != 2:
        raise ValueError(f"a heat map needs rows and columns, got the shape {table.shape}")
    down = [str(one) for one in (range(1, table.shape[0] + 1) if rows is None else rows)]
    across = [str(one) for one in (range(1, table.shape[1] + 1) if columns is None else columns)]
    if table.shape != (len(down), len(across)):
        raise ValueError(
            f"the table is {table.shape}, but {len(down)} rows and {len(across)} columns are named"
        )
    head = title or f"Click rate by {row_name or by} and position"
    known = table[np.isfinite(table)]
    highest = float(known.max()) if len(known) and known.max() > 0 else 1.0

    def text(value: float) -> str:
        return f"{value:.1%}" if percent else number_text(value)

    def draw(canvas: Canvas) -> None:
        canvas.heading(head, note)
        if not len(known):
            empty_note(canvas, "There are no impressions yet.")
            return
        _scale(canvas, text(0.0), text(highest))
        if row_name:
            canvas.y += 14
            canvas.text(0, canvas.y - 4, shorten(row_name, canvas.width), "soft", size=11)
        _cells(canvas, table / highest, down, across, lambda i, j: text(float(table[i, j])))

    summary = (
        f"{len(down)} rows, {len(across)} columns; the highest value is {text(highest)}."
        if len(known)
        else "Empty."
    )
    return Figure(head, f"{note} {summary}", draw)


def _cells(canvas: Canvas, shade: Floats, rows: Sequence[str], columns: Sequence[str], tip: Any) -> None:
    left = min(max(map(width_of, rows), default=0), canvas.width * 0.36) + 8
    wide = min((canvas.width - left) / max(len(columns), 1), 90)
    high = float(np.clip(wide, 12, 22))
    for i, row in enumerate(rows):
        y = canvas.y + i * high
        canvas.text(
            left - 6, y + high / 2 + 4, shorten(row, left - 8), size=min(12, high - 1), tip=row, anchor="end"
        )
        for j, column in enumerate(columns):
            box = (left + j * wide + 0.5, y + 0.5, max(wide - 1, 0.5), high - 1)
            if np.isfinite(shade[i, j]):
                opacity = round(0.1 + 0.9 * max(float(shade[i, j]), 0.0), 3)
                canvas.rect(*box, "s1", f"{row}, {column}: {tip(i, j)}", fill_opacity=f"{opacity:g}")
    canvas.y += high * len(rows) + 14
    free = -1e9
    for j, column in enumerate(columns):
        shown = shorten(column, max(wide - 5, 40), 11)
        middle, half = left + (j + 0.5) * wide, width_of(shown, 11) / 2
        if middle - half >= max(free, 0) and middle + half <= canvas.width + 4:
            canvas.text(middle, canvas.y, shown, "soft", size=11, anchor="middle", tip=column)
            free = middle + half + 5
    canvas.y += 6


def _scale(canvas: Canvas, low: str, high: str) -> None:
    """The colour key, from 0 to the highest value."""
    x, y, steps = width_of(low, 11) + 6, canvas.y, 10
    canvas.text(0, y + 10, low, "soft", size=11)
    for step in range(steps):
        canvas.rect(x + 12 * step, y, 12, 12, "s1", fill_opacity=f"{0.1 + 0.9 * (step + 0.5) / steps:.3f}")
    canvas.text(x + 12 * steps + 6, y + 10, high, "soft", size=11)
    canvas.y += 24


def _rates(log: Any, by: str, k: int) -> tuple[Floats, list[str]]:
    """Click rates of a log by its most often shown queries or documents, and by position."""
    if by == "query":
        code, table = np.repeat(log.page_query.code, log.lengths), log.queries
    else:
        code, table = log.row_document.code, log.documents
    shown = np.bincount(code, minlength=len(table))
    chosen = np.argsort(-shown, kind="stable")[:k]
    chosen = chosen[shown[chosen] > 0]
    place = np.full(len(table), -1)
    place[chosen] = np.arange(len(chosen))
    depth = int(log.position.max()) if len(log.position) else 0
    kept = place[code] >= 0
    cell = place[code][kept] * depth + log.position[kept] - 1
    tries = np.bincount(cell, minlength=len(chosen) * depth).astype(np.float64)
    hits = np.bincount(cell, log.click[kept], minlength=len(chosen) * depth)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = hits / tries
    return rates.reshape(len(chosen), depth), [str(table[i]) for i in chosen]
