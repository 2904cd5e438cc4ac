"""A plot area with axes, and what is drawn in it: curves with intervals, whiskers, bars."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Bools, Floats
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.scale import Scale, number_text, tick_texts
from rankloop.report.drawing.style import dash, role_of
from rankloop.report.drawing.text import shorten, width_of

__all__ = ["Curve", "Panel"]

_MARKED = 40  # up to this many points of a curve get a marker each
_SMALL = 11  # font size of ticks


@dataclass(frozen=True, eq=False, slots=True)
class Curve:
    """One named line: `x`, `y` and, where known, an interval around each value."""

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None


class Panel:
    """An area on a canvas with its axes; `curve` and the scales `x` and `y` place things in it.

    `above` reserves space over it, `floor` draws a line at its bottom, and `x_text` formats x in tooltips.
    """

    def __init__(
        self,
        canvas: Canvas,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        x_name: str = "",
        y_name: str = "",
        height: float = 230,
        x_ticks: Sequence[tuple[float, str]] | None = None,
        log: bool = False,
        percent: bool = False,
        above: float = 0,
        floor: bool = True,
        x_log: bool = False,
        x_text: Callable[[float], str] = number_text,
    ) -> None:
        self.canvas, self.x_text = canvas, x_text
        if y_name:
            canvas.y += 14
            canvas.text(0, canvas.y - 1, shorten(y_name, canvas.width), "soft", tip=y_name)
            canvas.y += 8
        top = canvas.y + 4 + above
        bottom = top + height
        self.y = Scale(*y, bottom, top, log)
        values = self.y.ticks(5)
        texts = (
            [f"{text}%" for text in tick_texts([100 * v for v in values])]
            if percent
            else self.y.texts(values)
        )
        left = max((width_of(text, _SMALL) for text in texts), default=0) + 8
        self.x = Scale(*x, left + 6, canvas.width - 8, x_log)
        for value, text in zip(values, texts, strict=True):
            at = self.y(value)
            canvas.line(left, at, canvas.width, at)
            canvas.text(left - 6, at + 4, text, "soft", size=_SMALL, anchor="end")
        if floor:
            canvas.line(left, bottom, canvas.width, bottom, "axis")
        self.top, self.bottom, self.left = top, bottom, left
        canvas.y = bottom
        self._x_axis(x_ticks, x_name)

    def _x_axis(self, given: Sequence[tuple[float, str]] | None, name: str) -> None:
        canvas = self.canvas
        values = self.x.ticks(4 if canvas.narrow else 7)
        marks = list(zip(values, self.x.texts(values), strict=True)) if given is None else list(given)
        free = -1e9
        for value, text in marks:
            at, half = self.x(value), width_of(text, _SMALL) / 2
            at_text = min(max(at, half), canvas.width - half)
            canvas.line(at, self.bottom, at, self.bottom + 4, "axis")
            if at_text - half >= free:
                canvas.text(at_text, self.bottom + 17, text, "soft", size=_SMALL, anchor="middle")
                free = at_text + half + 5
        canvas.y = self.bottom + (22 if marks else 4)
        if name:
            canvas.y += 14
            middle = (self.left + canvas.width) / 2
            shown = shorten(name, canvas.width - self.left)
            canvas.text(middle, canvas.y - 2, shown, "soft", anchor="middle", tip=name)
        canvas.y += 4

    def curve(self, curve: Curve, series: int) -> None:
        """A line with gaps where values are missing, and a band for its interval."""
        role = role_of(series)
        if curve.low is not None and curve.high is not None:
            for a, b in _runs(np.isfinite(curve.x) & np.isfinite(curve.low) & np.isfinite(curve.high)):
                kept = np.unique(np.linspace(a, b - 1, min(b - a, int(self.canvas.width))).astype(int))
                upper = [(self.x(curve.x[i]), self._clipped(curve.high[i])) for i in kept]
                lower = [(self.x(curve.x[i]), self._clipped(curve.low[i])) for i in kept]
                if b - a == 1:
                    self.whisker(upper[0][0], lower[0][1], upper[0][1], role)
                else:
                    self.canvas.path(upper + lower[::-1], role, closed=True, fill_opacity=0.16)
        x, y = _thinned(curve.x, curve.y, int(self.canvas.width))
        for a, b in _runs(np.isfinite(x) & np.isfinite(y)):
            points = [(self.x(at), self.y(v)) for at, v in zip(x[a:b], y[a:b], strict=True)]
            if b - a > 1:
                self.canvas.path(
                    points, role, stroke_width=2, stroke_linejoin="round", stroke_dasharray=dash(series)
                )
            if len(curve.y) <= _MARKED or b - a == 1:
                name = f"{curve.name}, " if curve.name else ""
                for (px, py), at, v in zip(points, x[a:b], y[a:b], strict=True):
                    tip = f"{name}{self.x_text(at)}: {number_text(v)}"
                    self.canvas.marker(px, py, series, role, tip=tip)

    def whisker(self, x: float, low: float, high: float, role: str) -> None:
        """A vertical interval between two y coordinates."""
        self.canvas.line(x, low, x, high, role, stroke_width=1.6)
        for at in (low, high):
            self.canvas.line(x - 4, at, x + 4, at, role, stroke_width=1.6)

    def _clipped(self, value: float) -> float:
        """The y of a value, clipped to the panel."""
        return min(max(self.y(value), self.top), self.bottom)


def _runs(kept: Bools) -> list[tuple[int, int]]:
    """Start and end of each run of kept values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], kept, [False]))))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _thinned(x: Floats, y: Floats, pixels: int) -> tuple[Floats, Floats]:
    """Of many points, the lowest and highest of each pixel."""
    if len(y) <= 2 * pixels:
        return x, y
    kept = {0, len(y) - 1}
    for part in np.array_split(np.arange(len(y)), pixels):
        if np.isfinite(y[part]).any():
            kept |= {int(part[np.nanargmin(y[part])]), int(part[np.nanargmax(y[part])])}
    index = np.array(sorted(kept))
    return x[index], y[index]
