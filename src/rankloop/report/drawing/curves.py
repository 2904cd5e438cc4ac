"""Named curves on one panel: what the plots over ranks, rounds and days share."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.panel import Curve, Panel
from rankloop.report.drawing.scale import number_text, span
from rankloop.report.drawing.theme import role_of
from rankloop.report.figure import Figure

__all__ = ["curves_figure", "floats", "named", "nothing", "ranks_axis", "told"]

Ticks = Sequence[tuple[float, str]]


def floats(values: Any, what: str) -> NDArray[np.float64]:
    """One dimension of numbers; what is missing is nan."""
    try:
        made = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, got {values!r:.80}") from None
    if made.ndim != 1:
        raise ValueError(f"{what} must be one number after another, got the shape {made.shape}")
    return made


def named(given: Any) -> dict[str, Any]:
    """Curves by name; one without a name is a curve too."""
    if isinstance(given, Mapping):
        return {str(name): one for name, one in given.items()}
    return {"": given}


def nothing(canvas: Canvas, text: str = "There is nothing to show yet.") -> None:
    canvas.y += 30
    canvas.words(0, canvas.y - 10, text, "soft", size=13)


def told(curves: Sequence[Curve]) -> str:
    """The curves in a sentence, for those who cannot see them."""
    said = []
    for curve in curves:
        kept = np.flatnonzero(np.isfinite(curve.y))
        name = f"{curve.name}: " if curve.name else ""
        if len(kept):
            first, last = float(curve.y[kept[0]]), float(curve.y[kept[-1]])
            said.append(f"{name}{len(kept)} values, from {number_text(first)} to {number_text(last)}")
        else:
            said.append(f"{name}no values")
    return "; ".join(said) + "." if said else "No curves."


def ranks_axis(depth: int) -> Callable[[bool], Ticks]:
    """Whole ranks as ticks: all of them where there is room."""

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
) -> Figure:
    """A figure of curves; `more` draws on top of them, and in the room kept free `above` the panel."""

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not any(np.isfinite(curve.y).any() for curve in curves):
            nothing(canvas)
            return
        if len(curves) > 1 or curves[0].name:
            canvas.legend([curve.name for curve in curves], [role_of(i) for i in range(len(curves))])
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
        for series, curve in enumerate(curves):
            panel.curve(curve, series)
        if more is not None:
            more(canvas, panel)

    return Figure(title, f"{note} {told(curves)}".strip(), draw)
