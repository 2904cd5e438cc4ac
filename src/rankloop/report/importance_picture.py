"""The most important features of a ranker."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note, floats
from rankloop.report.drawing.scale import Scale, number_text, span
from rankloop.report.drawing.style import role_of
from rankloop.report.drawing.text import BOLD, shorten, width_of
from rankloop.report.figure import Figure

__all__ = ["importance_picture"]

Found = tuple[list[str], Floats, Floats | None, Floats | None]
_ROW = 19


def importance_picture(
    found: Mapping[str, Any] | Any,
    *,
    k: int = 20,
    signed: bool = False,
    title: str = "Importance of features",
    note: str = "",
) -> Figure:
    """The `k` most important features, largest first; one panel for each measure of importance.

    `found` is an `Importance`, a tuple of names and values (and low and high), or several of these by name,
    such as "split" and "gain". `signed` values are sorted by their size.

    >>> importance_picture({"split": (["bm25", "age"], [12, 30]), "gain": (["bm25", "age"], [9.5, 2.0])})
    Figure('Importance of features')
    """
    many = found if isinstance(found, Mapping) else {getattr(found, "by", ""): found}
    panels = {str(by): _largest(one, k, signed) for by, one in many.items()}
    largest = max((len(_parts(one)[0]) for one in many.values()), default=0)
    cut = f"The {k} largest of {largest}." if largest > k else ""
    texts = [f"by {by or 'importance'}: {', '.join(names[:5])}" for by, (names, *_) in panels.items()]

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, f"{note} {cut}".strip())
        if not any(names for names, *_ in panels.values()):
            empty_note(canvas, "There are no features to show.")
            return
        draws = [
            partial(_bars, by=by, found=one, role=role_of(number))
            for number, (by, one) in enumerate(panels.items())
        ]
        canvas.beside(draws, 1 if canvas.narrow else min(len(draws), 2))

    return Figure(title, f"{note} {cut} Largest first, {'; '.join(texts)}.".strip(), draw)


def _bars(canvas: Canvas, by: str, found: Found, role: str) -> None:
    names, values, low, high = found
    wide = canvas.width
    if by:
        canvas.y += 16
        canvas.text(0, canvas.y - 3, shorten(f"by {by}", wide, 13 * BOLD), size=13, font_weight=600)
        canvas.y += 4
    texts = [number_text(value) for value in values]
    left = min(max(map(width_of, names), default=0), wide * 0.42) + 8
    right = wide - max((width_of(text, 11) for text in texts), default=0) - 6
    least, greatest = span([values, low, high], within=(0.0,), room=0.02)
    scale = Scale(min(least, 0.0), max(greatest, 1e-12), left, right)
    zero = scale(0.0)
    for number, (name, value) in enumerate(zip(names, values, strict=True)):
        y = canvas.y + _ROW * number
        canvas.text(left - 6, y + 14, shorten(name, left - 8), tip=name, anchor="end")
        canvas.text(wide, y + 14, texts[number], "soft", size=11, anchor="end")
        if not np.isfinite(value):
            continue
        a, b = sorted((zero, scale(value)))
        side = role if value >= 0 else "s2"
        canvas.rect(a, y + 4, b - a, _ROW - 7, side, f"{name}: {texts[number]}", rx=1.5, fill_opacity=0.85)
        if low is not None and high is not None and np.isfinite([low[number], high[number]]).all():
            canvas.line(scale(low[number]), y + 10.5, scale(high[number]), y + 10.5, "ink", stroke_width=1.5)
    canvas.line(zero, canvas.y, zero, canvas.y + _ROW * len(names), "axis")
    canvas.y += _ROW * len(names) + 10


def _largest(found: Any, k: int, signed: bool) -> Found:
    names, values, low, high = _parts(found)
    size = np.abs(values) if signed else values
    order = np.argsort(-np.nan_to_num(size, nan=-np.inf), kind="stable")[:k]
    bounds = [None if part is None else part[order] for part in (low, high)]
    return [names[i] for i in order], values[order], bounds[0], bounds[1]


def _parts(found: Any) -> Found:
    if hasattr(found, "names") and hasattr(found, "values"):
        given = (found.names, found.values, getattr(found, "low", None), getattr(found, "high", None))
    elif isinstance(found, tuple) and len(found) in (2, 4):
        given = (*found, None, None)[:4]
    else:
        raise ValueError(f"wanted an Importance, or names and values; got {type(found).__name__}")
    names = [str(name) for name in given[0]]
    values, low, high = (
        None if part is None else floats(part, "the importance of features") for part in given[1:]
    )
    assert values is not None
    if any(part is not None and len(part) != len(names) for part in (values, low, high)):
        raise ValueError(f"there are {len(names)} names for {len(values)} values")
    return names, values, low, high
