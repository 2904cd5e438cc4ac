"""The parts of a dashboard: panels with a text, a figure and a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from markupsafe import Markup

from rankloop.report import Figure

__all__ = ["Cell", "Head", "Number", "Panel", "drawn", "table"]

WIDTHS = (340, 500, 760, 1040)


class Head(NamedTuple):
    """The head of a column; numbers are right-aligned, a `whole` column is not wrapped."""

    name: str
    number: bool = False
    whole: bool = False


class Cell(NamedTuple):
    """A cell of a table: text, a link, a small tag, or a button that posts `name=value` to `action`."""

    text: str
    href: str = ""
    tag: str = ""
    action: str = ""
    name: str = ""
    value: str = ""


class Number(NamedTuple):
    """One of the large numbers at the top."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Panel:
    """One part of the dashboard; `figure` is safe SVG of `rankloop.report`.

    With `versions`, a form starts an experiment between two of them on at most `free` percent of people.
    """

    id: str
    title: str
    text: str = ""
    figure: Markup | None = None
    heads: tuple[Head, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    alarm: str = ""
    versions: tuple[str, ...] = ()
    free: int = 100
    broad: bool = False


def drawn(figure: Figure, title: str) -> Markup:
    """A figure drawn for several widths, of which the style sheet shows the one that fits.

    `title` is read by screen readers. Labels are escaped by `rankloop.report`.
    """
    named = replace(figure, title=title)
    parts = (f'<div class="at-{width}">{named.inline(width)}</div>' for width in WIDTHS)
    return Markup(f'<div class="figure">{"".join(parts)}</div>')


def table(rows: Iterable[Sequence[str | Cell]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows of text and cells."""
    return tuple(tuple(one if isinstance(one, Cell) else Cell(one) for one in row) for row in rows)
