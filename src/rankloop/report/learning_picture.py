"""Learning curves: quality by iteration, epoch or page."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import curves_figure, floats, named
from rankloop.report.drawing.panel import Curve, Panel
from rankloop.report.drawing.scale import number_text
from rankloop.report.figure import Figure

__all__ = ["learning_picture"]


def learning_picture(
    curves: Mapping[str, Any] | Any,
    *,
    x: str = "iteration",
    y: str = "ndcg@10",
    best: float | None = None,
    mark: str = "best",
    title: str = "Learning curve",
    note: str = "",
) -> Figure:
    """One curve per name; `best` is a place on the x axis, labelled with `mark`.

    A curve is its values (one per iteration, from 1), a tuple `(x, y)` or `(x, y, low, high)`, or a result of
    `rankloop.online.learning_curve`, whose online figures are written below.

    >>> learning_picture({"valid": [0.41, 0.45, 0.46]}, x="trees")
    Figure('Learning curve')
    """
    given = named(curves)
    made = [_curve(name, one) for name, one in given.items()]
    online = {name: one for name, one in given.items() if hasattr(one, "offline")}
    lines = [
        f"{f'{name}: ' if name else ''}users saw a discounted {y} of {number_text(one.online)} in total"
        + ("" if np.isnan(one.below_floor) else f", {one.below_floor:.1%} of the pages below the floor")
        for name, one in online.items()
    ]

    def more(canvas: Canvas, panel: Panel) -> None:
        if best is not None and panel.x.low <= best <= panel.x.high:
            at = panel.x(best)
            canvas.line(at, panel.top, at, panel.bottom, "axis", stroke_dasharray="4 3")
            left = at > (panel.left + canvas.width) / 2
            text = f"{mark}: {number_text(best)}"
            canvas.text(
                at - 5 if left else at + 5, panel.bottom - 8, text, "soft", anchor="end" if left else "start"
            )
        for line in lines:
            canvas.note(line)

    across = "pages" if online and x == "iteration" else x
    return curves_figure(made, title, note, x_name=across, y_name=y, more=more)


def _curve(name: str, given: Any) -> Curve:
    if hasattr(given, "offline") and hasattr(given, "pages"):
        parts = [given.pages, given.offline]
    elif isinstance(given, tuple) and len(given) in (2, 4) and np.ndim(given[0]) == 1:
        parts = list(given)
    else:
        values = floats(given, f"the curve {name!r}")
        return Curve(name, np.arange(1.0, len(values) + 1), values)
    made = [floats(part, f"the curve {name!r}") for part in parts]
    if len({len(one) for one in made}) != 1:
        raise ValueError(f"the curve {name!r} has an x and a y of different lengths")
    return Curve(name, *made)
