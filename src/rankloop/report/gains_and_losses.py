"""The change of each query between two rankings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Array, Floats
from rankloop._names import unknown
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note, floats
from rankloop.report.drawing.panel import Panel
from rankloop.report.drawing.scale import span
from rankloop.report.figure import Figure

__all__ = ["gains_and_losses"]

_SINGLE = 150  # up to this many bars are drawn one by one, each with its name
_NAMED = 3
_FEW = 8  # bars are at most as wide as if there were this many


def gains_and_losses(
    differences: Any,
    *,
    queries: Sequence[Any] | Array | None = None,
    system: str | None = None,
    metric: str | None = None,
    title: str | None = None,
    note: str = "",
) -> Figure:
    """The change of each query, sorted: gains to the left, losses to the right.

    `differences` is new minus old, one per query, or a `Comparison` (of which `system` and `metric` name a
    part; by default the first of each). The sign is reversed for a metric where lower is better.

    >>> gains_and_losses([0.2, -0.1, 0.0], queries=["a", "b", "c"])
    Figure('Gains and losses by query')
    """
    if hasattr(differences, "systems"):
        return _of_comparison(differences, system, metric, title, note)
    values = floats(differences, "differences")
    names = [str(one) for one in (range(1, len(values) + 1) if queries is None else queries)]
    if len(names) != len(values):
        raise ValueError(f"there are {len(values)} differences for {len(names)} queries")
    kept = np.flatnonzero(np.isfinite(values))
    order = kept[np.argsort(-values[kept], kind="stable")]
    values, names = values[order], [names[i] for i in order]
    gained, lost = int((values > 1e-12).sum()), int((values < -1e-12).sum())
    same = len(values) - gained - lost
    counts = f"Queries that gain: {gained:,}, that lose: {lost:,}, unchanged: {same:,}."
    head = title or "Gains and losses by query"

    def draw(canvas: Canvas) -> None:
        canvas.heading(head, f"{note} {counts}".strip())
        if len(values):
            _bars(canvas, values, names, metric or "difference")
        else:
            empty_note(canvas)

    return Figure(head, f"{note} {counts} {_extremes(values, names)}".strip(), draw)


def _bars(canvas: Canvas, values: Floats, names: Sequence[str], measure: str) -> None:
    canvas.legend(["gained", "lost"], ["s1", "s2"], lines=False)
    panel = Panel(
        canvas,
        (0.0, float(max(len(values), _FEW))),
        span([values], within=(0.0,)),
        x_name="queries, sorted",
        y_name=f"change of {measure}" if measure != "difference" else measure,
        height=200 if canvas.narrow else 240,
        x_ticks=[],
        floor=False,
    )
    zero = panel.y(0.0)
    if len(values) <= _SINGLE:
        wide = panel.x(1) - panel.x(0)
        for number, (value, name) in enumerate(zip(values, names, strict=True)):
            top = min(panel.y(value), zero)
            role, tip = ("s1" if value > 0 else "s2"), f"{name}: {value:+.4f}"
            x = panel.x(number) + min(0.1 * wide, 1)
            canvas.rect(x, top, max(wide * 0.8, wide - 2), max(abs(panel.y(value) - zero), 0.6), role, tip)
    else:
        for role, side in (("s1", np.maximum(values, 0.0)), ("s2", np.minimum(values, 0.0))):
            across = np.unique(np.linspace(0, len(values) - 1, 400).astype(int))
            outline = [(panel.x(float(i)), panel.y(side[i])) for i in across]
            end = panel.x(float(len(values)))
            canvas.path(
                [(panel.x(0.0), zero), *outline, (end, panel.y(side[-1])), (end, zero)], role, closed=True
            )
    canvas.line(panel.left, zero, canvas.width, zero, "axis")
    canvas.note(_extremes(values, names))


def _extremes(values: Floats, names: Sequence[str]) -> str:
    """The queries with the largest gains and losses, by name."""
    named = [
        (name if len(name) <= 40 else f"{name[:39]}…", value)
        for name, value in zip(names, values, strict=True)
    ]
    best = [f"{name} ({value:+.3f})" for name, value in named[:_NAMED] if value > 1e-12]
    worst = [f"{name} ({value:+.3f})" for name, value in named[::-1][:_NAMED] if value < -1e-12]
    parts = [
        f"Most gained: {', '.join(best)}." if best else "",
        f"Most lost: {', '.join(worst)}." if worst else "",
    ]
    return " ".join(part for part in parts if part)


def _of_comparison(
    found: Any, system: str | None, metric: str | None, title: str | None, note: str
) -> Figure:
    name = system or next(one for one in found.systems if one != found.baseline)
    measure = metric or found.names[0]
    if name not in found.systems:
        raise unknown("system", name, found.systems)
    if measure not in found.names:
        raise unknown("metric", measure, found.names)
    old, new = found.systems[found.baseline], found.systems[name]
    sign = -1.0 if measure in old.lower_is_better else 1.0
    return gains_and_losses(
        sign * (new.values[measure] - old.values[measure]),
        queries=new.qid.tolist(),
        metric=measure,
        title=title or f"{measure} by query: {name} against {found.baseline}",
        note=note,
    )
