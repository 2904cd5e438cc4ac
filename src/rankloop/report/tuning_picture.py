"""The trials of a parameter search: the best so far, and the metric by each parameter."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note
from rankloop.report.drawing.panel import Curve, Panel
from rankloop.report.drawing.scale import number_text, span
from rankloop.report.drawing.text import shorten
from rankloop.report.figure import Figure

__all__ = ["tuning_picture"]

_WIDE = 50.0  # a range whose ends have a larger ratio gets a logarithmic axis


def tuning_picture(
    trials: Any,
    *,
    metric: str = "ndcg@10",
    higher_is_better: bool = True,
    title: str = "Trials",
    note: str = "A point is a setting, by its mean over folds; a square one that was pruned, by an estimate.",
) -> Figure:
    """Every trial by each of its parameters, and the best value so far by trial.

    Trials are a `Study` of `rankloop.tune`, or pairs of parameters (a mapping) and the value they reached.

    >>> tuning_picture([({"C": 0.1}, 0.41), ({"C": 1.0}, 0.44), ({"C": 10.0}, 0.43)])
    Figure('Trials')
    """
    if hasattr(trials, "trials"):
        metric, higher_is_better = str(trials.metric), trials.metric.higher_is_better
        both = list(zip(trials.trials, trials.estimates_, strict=True))
        pruned = [(one.params, value) for one, value in both if one.pruned and np.isfinite(value)]
        trials = [(one.params, value) for one, value in both if not one.pruned]
    else:
        pruned = []
    tried: list[tuple[Mapping[str, Any], float]] = [(params, float(value)) for params, value in trials]
    tried = [one for one in tried if np.isfinite(one[1])]
    values = np.array([value for _, value in tried], np.float64)
    names = list(dict.fromkeys(name for params, _ in tried for name in params))

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not tried:
            empty_note(canvas, "No trial was completed.")
            return
        best = (np.maximum if higher_is_better else np.minimum).accumulate(values)
        up = span([[*values, *(value for _, value in pruned)]])
        draws: list[Callable[[Canvas], None]] = [partial(_so_far, best=best, up=up, metric=metric)]
        every = [*((*one, True) for one in pruned), *((*one, False) for one in tried)]
        draws += [partial(_by, name=name, tried=every, up=up, metric=metric) for name in names]
        canvas.beside(draws, 1 if canvas.narrow else min(len(draws), 2))

    if not tried:
        return Figure(title, "No trial was completed.", draw)
    at = int(values.argmax() if higher_is_better else values.argmin())
    left_out = f", {len(pruned)} of them pruned" if pruned else ""
    chosen = ", ".join(f"{name} {_text(value)}" for name, value in tried[at][0].items())
    count = f"{len(tried) + len(pruned)} trials{left_out}"
    return Figure(title, f"{count}; the best {metric} is {number_text(values[at])} with {chosen}.", draw)


def _so_far(canvas: Canvas, best: Floats, up: tuple[float, float], metric: str) -> None:
    across = span([[1, len(best)]], room=0.0)
    ticks = None if len(best) > 1 else [(1.0, "1")]
    panel = Panel(
        canvas,
        across,
        up,
        x_name="trial with all folds",
        y_name=f"best {metric} so far",
        height=170,
        x_ticks=ticks,
    )
    panel.curve(Curve("best", np.arange(1.0, len(best) + 1), best), 0)


def _by(
    canvas: Canvas,
    name: str,
    tried: Sequence[tuple[Mapping[str, Any], float, bool]],
    up: tuple[float, float],
    metric: str,
) -> None:
    kept = [(params[name], value, pruned) for params, value, pruned in tried if name in params]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value, *_ in kept):
        places = [float(value) for value, *_ in kept]
        log = min(places) > 0 and max(places) / min(places) > _WIDE
        ticks, across = None, span([places], log=log)
    else:
        texts = list(dict.fromkeys(_text(value) for value, *_ in kept))
        places, log = [float(texts.index(_text(value))) for value, *_ in kept], False
        room = canvas.width / (len(texts) + 1)
        ticks = [(float(i), shorten(text, room, 11)) for i, text in enumerate(texts)]
        across = (-0.5, len(texts) - 0.5)
    panel = Panel(
        canvas, across, up, x_name=name, y_name=f"{metric} by {name}", height=170, x_ticks=ticks, x_log=log
    )
    for place, (value, reached, pruned) in zip(places, kept, strict=True):
        tip = f"{name} {_text(value)}: {number_text(reached)}" + (", pruned" if pruned else "")
        series, role, size = (1, "s2", 2.2) if pruned else (0, "s1", 3.4)
        canvas.marker(panel.x(place), panel.y(reached), series, role, size, tip=tip)


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
