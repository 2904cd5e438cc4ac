"""Named curves on one panel: shared by the plots over ranks, iterations and days."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.panel import Curve, Panel
from rankloop.report.drawing.scale import number_text, span
from rankloop.report.drawing.style import role_of
from rankloop.report.figure import Figure

__all__ = [
    "Ticks",
    "curves_figure",
    "curves_text",
    "empty_note",
    "floats",
    "named",
    "rank_figure",
    "ranks_axis",
]

Ticks = Sequence[tuple[float, str]]


def floats(values: Any, what: str) -> Floats:
    """A one-dimensional array of numbers; missing ones are nan."""
    try:
        made = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, got {values!r:.80}") from None
    if made.ndim != 1:
        raise ValueError(f"{what} must be one-dimensional, got the shape {made.shape}")
    return made


def named(given: Any) -> dict[str, Any]:
    """Curves by name; a single one has the empty name."""
    if isinstance(given, Mapping):
        return {str(name): one for name, one in given.items()}
    return {"": given}


def empty_note(canvas: Canvas, text: str = "There is nothing to show yet.") -> None:
    canvas.y += 30
    canvas.text(0, canvas.y - 10, text, "soft", size=13)


def curves_text(curves: Sequence[Curve]) -> str:
    """The curves in a sentence, for screen readers."""
    parts = []
    for curve in curves:
        kept = np.flatnonzero(np.isfinite(curve.y))
        name = f"{curve.name}: " if curve.name else ""
        if len(kept):
            first, last = float(curve.y[kept[0]]), float(curve.y[kept[-1]])
            parts.append(f"{name}{len(kept)} values, from {number_text(first)} to {number_text(last)}")
        else:
            parts.append(f"{name}no values")
    return "; ".join(parts) + "." if parts else "No curves."


def ranks_axis(depth: int) -> Callable[[bool], Ticks]:
    """Whole ranks as ticks, all of them if they fit."""

    def ticks(narrow: bool) -> Ticks:
        step = next(
            step for step in (1, 2, 5, 10, 20, 50, 100, 10**9) if depth / step <= (12 if narrow else 25)
        )
        return [(rank, str(rank)) for rank in range(1, depth + 1) if rank == 1 or rank % step == 0]

    return ticks


def curves_figure(
    curves: Sequence[Curve],
    title: str,
    note: str,
    *,
    x_name: str,
    y_name: str,
    within: Sequence[float] = (),
    x_ticks: Callable[[bool], Ticks] | None = None,
    log: bool = False,
    percent: bool = False,
    above: float = 0,
    x_text: Callable[[float], str] = number_text,
    more: Callable[[Canvas, Panel], None] | None = None,
    colours: Mapping[str, int] | None = None,
) -> Figure:
    """A figure of curves; `more` draws on top of them, and in the space reserved `above` the panel.

    `colours` are the numbers of the colours by name, by default in order.
    """
    numbers = [(colours or {}).get(curve.name, at) for at, curve in enumerate(curves)]

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not any(np.isfinite(curve.y).any() for curve in curves):
            empty_note(canvas)
            return
        if len(curves) > 1 or curves[0].name:
            canvas.legend([curve.name for curve in curves], [role_of(one) for one in numbers])
        across = span([curve.x for curve in curves], room=0.0)
        up = span(
            [part for curve in curves for part in (curve.y, curve.low, curve.high)], within=within, log=log
        )
        panel = Panel(
            canvas,
            across,
            up,
            x_name=x_name,
            y_name=y_name,
            height=210 if canvas.narrow else 260,
            x_ticks=None if x_ticks is None else x_ticks(canvas.narrow),
            log=log,
            percent=percent,
            above=above,
            x_text=x_text,
        )
        for series, curve in zip(numbers, curves, strict=True):
            panel.curve(curve, series)
        if more is not None:
            more(canvas, panel)

    return Figure(title, f"{note} {curves_text(curves)}".strip(), draw)


def rank_figure(
    curves: Sequence[Curve],
    title: str,
    note: str,
    *,
    x_name: str = "position",
    y_name: str = "click rate",
    log: bool = False,
    percent: bool = False,
    more: Callable[[Canvas, Panel], None] | None = None,
) -> Figure:
    """A figure of curves over ranks; a linear axis begins at 0."""
    return curves_figure(
        curves,
        title,
        note,
        x_name=x_name,
        y_name=y_name,
        within=() if log else (0.0,),
        x_ticks=ranks_axis(max((len(curve.y) for curve in curves), default=1)),
        log=log,
        percent=percent,
        more=more,
    )
