"""The parts of a dashboard: panels with a text, a figure and a table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from markupsafe import Markup

from rankloop.report import Figure

__all__ = ["Cell", "Head", "Number", "Panel", "drawn", "table", "version_cell"]

WIDTHS = (340, 500, 760, 1040)


class Head(NamedTuple):
    """The head of a column; numbers are right-aligned, a `whole` column is not wrapped."""

    name: str
    number: bool = False
    whole: bool = False


class Cell(NamedTuple):
    """A cell of a table: text, a link, a small tag, or a button that posts `name=value` to `action`.

    `version` has the colour of its own before the text.
    """

    text: str
    href: str = ""
    tag: str = ""
    action: str = ""
    name: str = ""
    value: str = ""
    version: str = ""


class Number(NamedTuple):
    """One of the large numbers at the top; `href` leads to what is behind it."""

    name: str
    value: str
    note: str = ""
    href: str = ""
    version: str = ""


@dataclass(frozen=True)
class Panel:
    """One part of the dashboard; `figure` is safe SVG of `rankloop.report`.

    `form` names the template of a form, which offers `versions`; an experiment gets at most `free` percent of
    the people. The table of a `folded` panel is shown when asked for.
    """

    id: str
    title: str
    text: str = ""
    figure: Markup | None = None
    heads: tuple[Head, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    alarm: str = ""
    form: str = ""
    versions: tuple[str, ...] = ()
    free: int = 100
    broad: bool = False
    folded: bool = False

    @property
    def bare(self) -> bool:
        """Whether there is a sentence and nothing else; such panels stand last."""
        return not (self.rows or self.figure or self.form or self.alarm)


def drawn(figure: Figure, title: str) -> Markup:
    """A figure drawn for several widths, of which the style sheet shows the one that fits.

    `title` is read by screen readers. Labels are escaped by `rankloop.report`.
    """
    named = replace(figure, title=title)
    parts = (f'<div class="at-{width}">{named.inline(width)}</div>' for width in WIDTHS)
    return Markup(f'<div class="figure">{"".join(parts)}</div>')


def version_cell(version: str, text: str = "") -> Cell:
    """The name of a version in its colour."""
    return Cell(text or version, version=version)


def table(rows: Iterable[Sequence[str | Cell]]) -> tuple[tuple[Cell, ...], ...]:
    """Rows of text and cells."""
    return tuple(tuple(one if isinstance(one, Cell) else Cell(one) for one in row) for row in rows)
