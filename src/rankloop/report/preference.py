"""Wins, ties and losses of interleaved rankers."""

from collections.abc import Iterable, Mapping
from typing import Any

from rankloop.report.drawing.canvas import Canvas
from rankloop.report.drawing.curves import empty_note
from rankloop.report.drawing.scale import p_text
from rankloop.report.drawing.style import role_of
from rankloop.report.drawing.text import BOLD, shorten, width_of
from rankloop.report.figure import Figure

__all__ = ["preference"]

_HIGH = 22


def preference(
    verdicts: Any,
    *,
    colours: Mapping[str, int] | None = None,
    title: str = "Which ranking people prefer",
    note: str = "Interleaved pages: won by the first, tied, won by the second.",
) -> Figure:
    """One bar for each pair of rankers, with the verdict below it.

    Verdicts are those of `rankloop.interleaving`, or mappings with first, second, wins, losses and ties, and
    where known difference, low, high, p_value and winner. `colours` are the numbers of the rankers' colours.

    >>> preference({"first": "new", "second": "old", "wins": 87, "losses": 48, "ties": 83})
    Figure('Which ranking people prefer')
    """
    several = isinstance(verdicts, Iterable) and not isinstance(verdicts, Mapping)
    found = [_fields(one) for one in (verdicts if several else [verdicts])]

    def draw(canvas: Canvas) -> None:
        canvas.heading(title, note)
        if not found:
            empty_note(canvas, "No experiment has run yet.")
        for one in found:
            _bar(canvas, one, colours or {})

    return Figure(title, f"{note} {' '.join(_sentence(one) for one in found)}", draw)


def _bar(canvas: Canvas, one: Mapping[str, Any], colours: Mapping[str, int]) -> None:
    half = canvas.width / 2 - 8
    canvas.y += 18
    first, second = str(one["first"]), str(one["second"])
    canvas.text(0, canvas.y - 5, shorten(first, half, 13 * BOLD), size=13, tip=first, font_weight=600)
    canvas.text(
        canvas.width,
        canvas.y - 5,
        shorten(second, half, 13 * BOLD),
        size=13,
        tip=second,
        anchor="end",
        font_weight=600,
    )
    total = one["wins"] + one["losses"] + one["ties"]
    x = 0.0
    parts = (
        (role_of(colours.get(first, 0)), one["wins"], f"{first} wins"),
        ("none", one["ties"], "ties"),
        (role_of(colours.get(second, 1)), one["losses"], f"{second} wins"),
    )
    for role, count, name in parts:
        wide = canvas.width * count / total if total else 0.0
        if wide > 0:
            canvas.rect(
                x, canvas.y, max(wide - 1.5, 0.5), _HIGH, role, f"{name}: {count:,} of {total:,} pages", rx=2
            )
        text = f"{count:,}"
        if width_of(text) + 6 <= wide:
            canvas.text(
                x + wide / 2, canvas.y + 15, text, "ink" if role == "none" else "paper", anchor="middle"
            )
        x += wide
    if not total:
        canvas.rect(0, canvas.y, canvas.width, _HIGH, "rule", "no pages yet", rx=2)
    middle = canvas.width / 2
    canvas.line(middle, canvas.y - 3, middle, canvas.y + _HIGH + 3, "axis", stroke_dasharray="3 2")
    canvas.y += _HIGH + 4
    canvas.note(_sentence(one))
    canvas.y += 12


def _sentence(one: Mapping[str, Any]) -> str:
    """The verdict as a sentence."""
    pair = f"{one['first']} against {one['second']}"
    counts = f"{one['wins']:,} wins, {one['ties']:,} ties, {one['losses']:,} losses of {pair}"
    if one.get("difference") is None:
        return f"{counts}."
    interval = f"difference {one['difference']:+.3f}"
    if one.get("low") is not None and one.get("high") is not None:
        interval += f" [{one['low']:+.3f}, {one['high']:+.3f}]"
    if one.get("p_value") is not None:
        interval += f", {p_text(float(one['p_value']))}"
    winner = one.get("winner")
    return f"{counts}; {interval}: {f'{winner} is preferred' if winner else 'no difference is shown'}."


def _fields(verdict: Any) -> dict[str, Any]:
    fields = verdict.to_dict() if hasattr(verdict, "to_dict") else dict(verdict)
    missing = [key for key in ("first", "second", "wins", "losses", "ties") if key not in fields]
    if missing:
        raise ValueError(f"a verdict needs first, second, wins, losses and ties; there is no {missing[0]}")
    return fields
