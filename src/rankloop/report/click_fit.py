"""How well click models fit the clicks of a log."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import floats, rank_figure
from rankloop.report.drawing.dots import dots
from rankloop.report.drawing.panel import Curve, Panel
from rankloop.report.drawing.scale import number_text
from rankloop.report.figure import Figure

__all__ = ["click_fit"]


def click_fit(
    observed: Any,
    fitted: Mapping[str, Any],
    *,
    perplexity: Mapping[str, float] | None = None,
    title: str = "Click models against the log",
    note: str = "Click rate by rank, observed and by each model.",
) -> Figure:
    """Observed click rates by rank next to those of fitted models, and the perplexity of each model.

    `observed` is a `ClickLog`, best of pages the models were not fitted on, and `fitted` holds click models;
    or both are rates by rank, and `perplexity` is given too (1 is perfect, 2 a fair coin).

    >>> click_fit([0.3, 0.1], {"PBM": [0.29, 0.11]}, perplexity={"PBM": 1.4})
    Figure('Click models against the log')
    """
    if hasattr(observed, "position") and hasattr(observed, "click"):
        perplexity = {name: model.perplexity(observed).overall for name, model in fitted.items()}
        rates = {
            name: _by_rank(observed, model.click_probability(observed)) for name, model in fitted.items()
        }
        observed = _by_rank(observed, observed.click)
    else:
        rates = dict(fitted)
    curves = [_curve("observed", observed), *(_curve(str(name), one) for name, one in rates.items())]
    figures = {str(name): float(value) for name, value in (perplexity or {}).items()}

    def more(canvas: Canvas, panel: Panel) -> None:
        if figures:
            canvas.y += 14
            rows = {name: (value, np.nan, np.nan) for name, value in figures.items()}
            dots(canvas, "Perplexity (1 is perfect; lower is better)", rows, first=1)

    figure = rank_figure(curves, title, note, percent=True, more=more)
    text = "".join(f" Perplexity of {name}: {number_text(value)}." for name, value in figures.items())
    return Figure(figure.title, figure.description + text, figure.draw)


def _by_rank(log: Any, values: ArrayLike) -> Any:
    shown = np.bincount(log.position, minlength=2)[1:].astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.bincount(log.position, np.asarray(values, np.float64), minlength=2)[1:] / shown


def _curve(name: str, rates: Any) -> Curve:
    values = floats(rates, f"click rates of {name!r}")
    return Curve(name, np.arange(1.0, len(values) + 1), values)
