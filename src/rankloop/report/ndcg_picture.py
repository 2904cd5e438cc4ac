"""NDCG of one list as areas of gain times discount."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._names import one_of
from rankloop.lists.discount import discount
from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note, floats
from rankloop.report.drawing.text import shorten, width_of
from rankloop.report.figure import Figure

__all__ = ["ndcg_picture"]

_HEIGHT = 118


@dataclass(frozen=True, eq=False, slots=True)
class _Order:
    """Documents in an order: gain, label and name by rank."""

    name: str
    gain: Floats
    labels: Floats
    documents: list[str]

    @property
    def dcg(self) -> float:
        return float(self.gain @ _discount(len(self.gain)))


def ndcg_picture(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    k: int = 10,
    gain: str = "exp2",
    documents: Sequence[Any] | None = None,
    missed: ArrayLike = (),
    title: str | None = None,
) -> Figure:
    r"""The list as ranked above the best possible order: each document is a rectangle.

    Its width is the discount :math:`1 / \log_2(1 + r)` of its rank, its height the gain :math:`2^l - 1` of
    its label, its area its share of the DCG. NDCG is the area of the upper row divided by that of the lower.
    Documents with equal scores share their gains, as in the metric. `missed` are the labels of documents that
    the list does not hold: they count in the best order.

    >>> ndcg_picture([2.0, 1.0, 3.0], [2, 0, 1])
    Figure('NDCG@10 = 0.797')
    """
    one_of("gain", gain, ("exp2", "linear"))
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    points, grades = floats(scores, "scores"), floats(labels, "labels")
    names = (
        [f"document {i}" for i in range(1, len(points) + 1)] if documents is None else [*map(str, documents)]
    )
    if not len(points) == len(grades) == len(names):
        raise ValueError(
            f"got {len(points)} scores, {len(grades)} labels and {len(names)} documents; "
            "give the same number of each"
        )
    if not np.isfinite(points).all() or not np.isfinite(grades).all() or (grades < 0).any():
        raise ValueError("scores must be finite and labels finite and >= 0 to draw a list")
    lost = floats(missed, "missed")
    if not np.isfinite(lost).all() or (lost < 0).any():
        raise ValueError("missed labels must be finite and >= 0")
    gains = 2.0**grades - 1 if gain == "exp2" else grades
    every, labelled = np.concatenate([grades, lost]), [*names, *["not in the list"] * len(lost)]
    possible = 2.0**every - 1 if gain == "exp2" else every
    shared = _shared(points, gains)
    actual = _order("as ranked", -points, shared, grades, names, k)
    ideal = _order("best order", -possible, possible, every, labelled, k)
    value = actual.dcg / ideal.dcg if ideal.dcg > 0 else float("nan")
    head = title or (f"NDCG@{k} = {value:.3f}" if np.isfinite(value) else f"NDCG@{k}: nothing is relevant")
    below = int((grades > 0).sum() - (actual.labels > 0).sum())

    def draw(canvas: Canvas) -> None:
        canvas.heading(
            head, f"Width: discount of the rank. Height: gain of the label ({_formula(gain)}). Area: DCG."
        )
        if not len(points):
            empty_note(canvas, "The list is empty.")
            return
        tallest = float(max(ideal.gain.max(), actual.gain.max(), 1e-9))
        for order in (actual, ideal):
            _row(canvas, order, tallest)
        if np.isfinite(value):
            canvas.note(f"{actual.dcg:.3f} / {ideal.dcg:.3f} = {value:.4f}")
        if below > 0:
            canvas.note(
                f"{below} relevant {'document is' if below == 1 else 'documents are'} below rank {k}."
            )
        if not np.allclose(actual.gain, _order("alone", -points, gains, grades, names, k).gain):
            canvas.note("Documents with equal scores share their gains.")

    summary = (
        f"DCG as ranked {actual.dcg:.3f}, of the best order {ideal.dcg:.3f}. "
        f"Labels as ranked: {', '.join(f'{label:g}' for label in actual.labels)}."
    )
    return Figure(head, summary, draw)


def _row(canvas: Canvas, order: _Order, tallest: float) -> None:
    canvas.y += 16
    canvas.text(0, canvas.y - 3, order.name, size=13, font_weight=600)
    canvas.text(canvas.width, canvas.y - 3, f"DCG {order.dcg:.3f}", "soft", anchor="end")
    discount = _discount(len(order.gain))
    wide, top = canvas.width / discount.sum(), canvas.y + 4
    floor, x = top + _HEIGHT, 0.0
    for index, (gain, label, name) in enumerate(zip(order.gain, order.labels, order.documents, strict=True)):
        across = wide * discount[index]
        high = _HEIGHT * gain / tallest
        area = f"{gain:.3g} × {discount[index]:.3f} = {gain * discount[index]:.3f}"
        tip = f"rank {index + 1}, {name}, label {label:g}: {area}"
        canvas.rect(x + 0.75, top, across - 1.5, _HEIGHT, "rule", tip, fill_opacity=0.35)
        canvas.rect(
            x + 0.75, floor - high, across - 1.5, high, "s1" if order.name == "as ranked" else "s3", tip
        )
        middle, text = x + across / 2, f"{label:.3g}"
        if width_of(text, 12) <= across:
            inside = high > 20
            canvas.text(
                middle,
                floor - (6 if inside else high + 5),
                text,
                "paper" if inside else "ink",
                anchor="middle",
            )
        if width_of(str(index + 1), 11) <= across:
            canvas.text(middle, floor + 13, str(index + 1), "soft", size=11, anchor="middle")
        if across > 60:
            role = "paper" if high > _HEIGHT - 18 else "soft"
            canvas.text(middle, top + 13, shorten(name, across - 8, 11), role, size=11, anchor="middle")
        x += across
    canvas.line(0, floor, canvas.width, floor, "axis")
    canvas.y = floor + 24


def _order(name: str, key: Floats, gains: Floats, labels: Floats, documents: Sequence[str], k: int) -> _Order:
    order = np.argsort(key, kind="stable")[:k]
    return _Order(name, gains[order], labels[order], [documents[i] for i in order])


def _shared(scores: Floats, gains: Floats) -> Floats:
    """The expected gain at each document's place over random orders of equal scores."""
    _, group = np.unique(scores, return_inverse=True)
    if not len(gains):
        return gains
    return np.asarray((np.bincount(group, gains) / np.bincount(group))[group])


def _discount(n: int) -> Floats:
    return discount(np.arange(1, n + 1))


def _formula(gain: str) -> str:
    return "2^label − 1" if gain == "exp2" else "the label"
