"""Metrics of several models, each with its interval."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note
from rankloop.report.drawing.dots import Interval, dots
from rankloop.report.drawing.scale import number_text
from rankloop.report.figure import Figure

__all__ = ["metric_intervals"]


def metric_intervals(
    models: Mapping[str, Any] | Any,
    *,
    signed: bool = False,
    colours: Mapping[str, int] | None = None,
    title: str = "Metrics with intervals",
    note: str = "Means over queries with 95 % intervals; further right is better.",
) -> Figure:
    """A dot with whiskers for each model, one block per metric.

    A model is an `Evaluation`, or a mapping from a metric's name to its mean, or to (mean, low, high).
    `signed` values are differences, drawn with 0. `colours` gives each model the number of its colour.

    >>> metric_intervals({"bm25": {"ndcg@10": (0.41, 0.38, 0.44)}, "trees": {"ndcg@10": (0.47, 0.44, 0.50)}})
    Figure('Metrics with intervals')
    """
    given = {"": models} if hasattr(models, "interval") else models
    rows = {str(name): _figures(one) for name, one in given.items()}
    metrics = list(dict.fromkeys(metric for found in rows.values() for metric in found))

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not metrics:
            empty_note(canvas)
        for metric in metrics:
            found = {name: one[metric] for name, one in rows.items() if metric in one}
            dots(canvas, metric, found, signed=signed, colours=colours)

    texts = [
        f"{metric}{f' of {name}' if name else ''}: {number_text(found[metric][0])}"
        for metric in metrics
        for name, found in rows.items()
        if metric in found
    ]
    return Figure(title, f"{note} {'; '.join(texts)}.", draw)


def _figures(given: Any) -> dict[str, Interval]:
    if hasattr(given, "mean") and hasattr(given, "interval"):
        return {name: (value, *given.interval[name]) for name, value in given.mean.items()}
    return {str(name): _three(value) for name, value in given.items()}


def _three(value: Any) -> Interval:
    parts = [float("nan") if one is None else float(one) for one in np.ravel(np.asarray(value, object))]
    if len(parts) == 1:
        return parts[0], float("nan"), float("nan")
    if len(parts) != 3:
        raise ValueError(f"a metric is its mean, or mean, low and high; got {value!r:.60}")
    return parts[0], parts[1], parts[2]
