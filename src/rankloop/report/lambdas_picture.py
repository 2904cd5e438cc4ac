"""The lambdas of a list as arrows: how strongly a loss moves each document up or down."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note, floats
from rankloop.report.drawing.scale import number_text
from rankloop.report.drawing.text import shorten, width_of
from rankloop.report.figure import Figure

__all__ = ["lambdas_picture"]

_ROW = 24


def lambdas_picture(
    push: Any,
    labels: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    *,
    index: int = 0,
    documents: Sequence[Any] | None = None,
    k: int = 20,
    title: str = "Where the loss pushes each document",
    note: str = "Documents as ranked; the longer the arrow, the stronger the push up or down.",
) -> Figure:
    """The `k` best documents of a list as ranked, with an arrow at each.

    `push` is the result of `rankloop.rankers.lambdas` (`index` selects one of its lists), or one number per
    document, above 0 for up, with `labels` and `scores`. `documents` are names in the order of the data.

    >>> lambdas_picture([-0.4, 0.1, 0.3], labels=[0, 1, 2], scores=[0.5, 0.3, 0.1])
    Figure('Where the loss pushes each document')
    """
    if hasattr(push, "push"):
        a, b = push.offsets[index], push.offsets[index + 1]
        push, labels, scores = push.push[a:b], push.labels[a:b], push.scores[a:b]
    lambdas = floats(push, "push")
    lambdas = np.where(np.isfinite(lambdas), lambdas, np.nan)
    grades = None if labels is None else floats(labels, "labels")
    points = floats(range(len(lambdas), 0, -1) if scores is None else scores, "scores")
    names = (
        [f"document {i}" for i in range(1, len(lambdas) + 1)] if documents is None else [*map(str, documents)]
    )
    if len({len(lambdas), len(points), len(names), len(lambdas) if grades is None else len(grades)}) != 1:
        raise ValueError(f"{len(lambdas)} lambdas need as many labels, scores and documents")
    order = np.argsort(-points, kind="stable")[:k]
    shown, hidden = lambdas[order], len(lambdas) - len(order)
    names = [names[i] for i in order]
    marks = None if grades is None else grades[order]

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not len(shown):
            empty_note(canvas, "The list is empty.")
            return
        canvas.legend(["up", "down"], ["s1", "s2"], lines=False)
        _list(canvas, shown, names, marks)
        if hidden:
            canvas.note(f"{hidden:,} more documents are ranked below.")

    strongest = np.argsort(-np.abs(np.nan_to_num(shown)), kind="stable")[:3]
    text = "; ".join(f"{names[i]} at rank {i + 1}: {shown[i]:+.3g}" for i in strongest)
    return Figure(title, f"{note} Strongest: {text}.", draw)


def _list(canvas: Canvas, push: Floats, names: Sequence[str], labels: Floats | None) -> None:
    n = len(push)
    rank_end = width_of(str(n)) + 4
    room = min(max(map(width_of, names)), canvas.width * (0.34 if canvas.narrow else 0.4))
    marks = [] if labels is None else [f"{label:.3g}" for label in labels]
    chip = max((width_of(mark, 11) for mark in marks), default=0) + 12 if marks else 0.0
    grade = rank_end + room + 12  # where the labels begin
    left, right = grade + chip + 14, canvas.width - 14
    strongest = float(np.nanmax(np.abs(push), initial=0.0)) or 1.0
    longest = _ROW * max(1.2, min(n - 1, 6))
    reach = (np.arange(n) + 0.5) * _ROW - longest * np.nan_to_num(push) / strongest  # where arrows end
    top = canvas.y + max(0.0, 4 - float(reach.min()))
    step = min((right - left) / max(n - 1, 1), 40)
    for number in range(n):
        y = top + _ROW * (number + 0.5)
        canvas.text(rank_end, y + 4, str(number + 1), "soft", anchor="end")
        canvas.text(rank_end + 8, y + 4, shorten(names[number], room), tip=names[number])
        if marks:
            canvas.rect(grade, y - 9, chip, 18, "rule", f"label {marks[number]}", rx=9)
            canvas.text(grade + chip / 2, y + 4, marks[number], size=11, anchor="middle")
        x = left + step * number
        canvas.line(grade + chip + 6, y, left + step * (n - 1) + 14, y)
        _arrow(canvas, x, y, push[number], strongest, longest, names[number])
    canvas.y = top + max(_ROW * n, float(reach.max()) + 4) + 4
    if marks:
        canvas.note("In the circles: the labels.")


def _arrow(
    canvas: Canvas, x: float, y: float, push: float, strongest: float, longest: float, name: str
) -> None:
    if not np.isfinite(push):
        return
    role, sign = ("s1", -1) if push > 0 else ("s2", 1)
    length = longest * abs(push) / strongest
    tip = f"{name}: {'+' if push > 0 else ''}{number_text(push)}"
    if length < 3:
        canvas.marker(x, y, 0, role if length > 0.5 else "none", size=2.6, tip=tip)
        return
    head = min(7.0, length * 0.6)
    end = y + sign * length
    canvas.add(
        "line", tip=tip, x1=x, y1=y, x2=x, y2=end - sign * head * 0.8, class_=f"l-{role}", stroke_width=2.6
    )
    canvas.path(
        [(x, end), (x - head * 0.6, end - sign * head), (x + head * 0.6, end - sign * head)],
        role,
        closed=True,
        tip=tip,
    )
