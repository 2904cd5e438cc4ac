"""Metrics of several models, each with its interval."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankloop.report._canvas import Canvas
from rankloop.report._curves import nothing
from rankloop.report._panel import role_of
from rankloop.report._scale import Scale, number_text, span, tick_texts
from rankloop.report._text import shorten, width_of
from rankloop.report.figure import Figure

__all__ = ["metric_intervals"]

_ROW = 24


def metric_intervals(
    models: Mapping[str, Any] | Any,
    *,
    title: str = "Metrics with intervals",
    note: str = "Means over queries with their 95 % intervals; further right is better.",
) -> Figure:
    """A dot with whiskers for each model, one block per metric.

    A model is an `Evaluation`, or a mapping from a metric's name to its mean, or to (mean, low, high).

    >>> metric_intervals({"bm25": {"ndcg@10": (0.41, 0.38, 0.44)}, "trees": {"ndcg@10": (0.47, 0.44, 0.50)}})
    Figure('Metrics with intervals')
    """
    given = {"": models} if hasattr(models, "interval") else models
    rows = {str(name): _figures(one) for name, one in given.items()}
    metrics = list(dict.fromkeys(metric for found in rows.values() for metric in found))

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not metrics:
            nothing(canvas)
        for metric in metrics:
            _block(canvas, metric, {name: found[metric] for name, found in rows.items() if metric in found})

    said = [
        f"{metric}{f' of {name}' if name else ''}: {number_text(found[metric][0])}"
        for metric in metrics
        for name, found in rows.items()
        if metric in found
    ]
    return Figure(title, f"{note} {'; '.join(said)}.", draw)


def _block(canvas: Canvas, metric: str, rows: Mapping[str, tuple[float, float, float]]) -> None:
    canvas.y += 16
    canvas.words(0, canvas.y - 2, shorten(metric, canvas.width, 13), size=13, font_weight=600)
    canvas.y += 4
    most = canvas.width * (0.36 if canvas.narrow else 0.3)
    left = min(max((width_of(name) for name in rows), default=0), most) + 10
    right = canvas.width - width_of("0.0000") - 10
    low, high = span([[value for value in found if np.isfinite(value)] for found in rows.values()], room=0.08)
    scale = Scale(low, high, left + 8, right)
    top = canvas.y
    bottom = top + _ROW * len(rows)
    ticks = scale.ticks(4 if canvas.narrow else 6)
    for value, text in zip(ticks, tick_texts(ticks), strict=True):
        canvas.line(scale(value), top, scale(value), bottom)
        canvas.words(scale(value), bottom + 14, text, "soft", size=11, anchor="middle")
    for number, (name, (mean, lowest, highest)) in enumerate(rows.items()):
        y, role = top + _ROW * (number + 0.5), role_of(number)
        canvas.words(0, y + 4, shorten(name, left - 8), tip=name)
        canvas.words(canvas.width, y + 4, number_text(mean), "soft", anchor="end")
        if np.isfinite(lowest) and np.isfinite(highest):
            a, b = scale(lowest), scale(highest)
            canvas.line(a, y, b, y, role, stroke_width=2)
            for x in (a, b):
                canvas.line(x, y - 4, x, y + 4, role, stroke_width=2)
        if np.isfinite(mean):
            tip = f"{name}: {number_text(mean)}, between {number_text(lowest)} and {number_text(highest)}"
            canvas.marker(scale(mean), y, number, role, size=4.5, tip=tip)
    canvas.y = bottom + 26


def _figures(given: Any) -> dict[str, tuple[float, float, float]]:
    if hasattr(given, "mean") and hasattr(given, "interval"):
        return {name: (value, *given.interval[name]) for name, value in given.mean.items()}
    return {str(name): _three(value) for name, value in given.items()}


def _three(value: Any) -> tuple[float, float, float]:
    parts = [float("nan") if one is None else float(one) for one in np.ravel(np.asarray(value, object))]
    if len(parts) == 1:
        return parts[0], float("nan"), float("nan")
    if len(parts) != 3:
        raise ValueError(f"a figure is its mean, or mean, low and high; got {value!r:.60}")
    return parts[0], parts[1], parts[2]
