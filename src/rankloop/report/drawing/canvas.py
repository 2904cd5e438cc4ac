"""Shapes and text as SVG. Text is escaped here and nowhere else."""

import re
from collections.abc import Callable, Sequence
from html import escape

from rankloop.report.drawing.style import dash
from rankloop.report.drawing.text import BOLD, shorten, width_of, wrapped

__all__ = ["Canvas", "clean", "legal", "tag"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TITLE, NOTE = 15, 12  # font sizes


def clean(text: object) -> str:
    """Any value as escaped text that XML allows.

    >>> clean("<b>&")
    '&lt;b&gt;&amp;'
    """
    return escape(legal(str(text)), quote=True)


def legal(text: str) -> str:
    """The text with U+FFFD in place of each character that XML forbids."""
    return _NOT_XML.sub("\ufffd", text)


def tag(name: str, *inside: str, **attributes: object) -> str:
    """One element; `inside` is markup, values of attributes are escaped and left out if None.

    >>> tag("rect", x=1.0, class_="s1")
    '<rect x="1" class="s1"/>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    body = "".join(inside)
    return f"<{name}{written}>{body}</{name}>" if body else f"<{name}{written}/>"


class Canvas:
    """A picture that grows downwards: the next part begins at `y`."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.y = 0.0
        self.parts: list[str] = []

    @property
    def narrow(self) -> bool:
        return self.width < 500

    def add(self, name: str, *inside: str, tip: object = None, **attributes: object) -> None:
        """An element; `tip` is its tooltip."""
        title = () if tip is None else (tag("title", clean(tip)),)
        self.parts.append(tag(name, *title, *inside, **attributes))

    def line(self, x1: float, y1: float, x2: float, y2: float, role: str = "rule", **more: object) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=f"l-{role}", **more)

    def rect(
        self, x: float, y: float, width: float, height: float, role: str, tip: object = None, **more: object
    ) -> None:
        self.add("rect", tip=tip, x=x, y=y, width=max(width, 0), height=max(height, 0), class_=role, **more)

    def path(
        self, points: Sequence[tuple[float, float]], role: str, *, closed: bool = False, **more: object
    ) -> None:
        """A line through points, or with `closed` the area they bound."""
        if points:
            steps = "L".join(f"{_value(x)} {_value(y)}" for x, y in points)
            self.add(
                "path", d=f"M{steps}{'Z' if closed else ''}", class_=role if closed else f"l-{role}", **more
            )

    def text(
        self,
        x: float,
        y: float,
        text: object,
        role: str = "ink",
        *,
        size: float = 12,
        tip: object = None,
        **more: object,
    ) -> None:
        """Text on the baseline `y`; `anchor` is start, middle or end."""
        anchor = more.pop("anchor", None)
        side = None if anchor == "start" else anchor
        self.add(
            "text", clean(text), tip=tip, x=x, y=y, class_=role, font_size=size, text_anchor=side, **more
        )

    def marker(
        self, x: float, y: float, series: int, role: str, size: float = 3.4, tip: object = None
    ) -> None:
        """A point; shapes distinguish curves without colour."""
        shape = series % 4
        if shape == 0:
            self.add("circle", tip=tip, cx=x, cy=y, r=size, class_=role)
            return
        s = size * (1.0, 0.9, 1.25, 1.3)[shape]
        corners = {
            1: [(-s, -s), (s, -s), (s, s), (-s, s)],
            2: [(0, -s), (s, s * 0.8), (-s, s * 0.8)],
            3: [(0, -s), (s, 0), (0, s), (-s, 0)],
        }[shape]
        self.path([(x + dx, y + dy) for dx, dy in corners], role, closed=True, tip=tip)

    def heading(self, title: str, note: str = "") -> None:
        """The title and a sentence below it."""
        for text, size, role, gap in ((title, TITLE, "ink", 6), (note, NOTE, "soft", 5)):
            for line in wrapped(text, self.width, size * BOLD if size == TITLE else size):
                self.y += size + gap
                self.text(0, self.y - 2, line, role, size=size, font_weight=600 if size == TITLE else None)
        self.y += 10

    def beside(self, draws: Sequence[Callable[["Canvas"], None]], columns: int, gap: float = 28) -> None:
        """Several drawings side by side, in rows of `columns`."""
        wide = (self.width - gap * (columns - 1)) / columns
        for start in range(0, len(draws), columns):
            row = [Canvas(wide) for _ in draws[start : start + columns]]
            for number, (part, draw) in enumerate(zip(row, draws[start:], strict=False)):
                draw(part)
                place = f"translate({_value(number * (wide + gap))} {_value(self.y)})"
                self.parts.append(tag("g", *part.parts, transform=place))
            self.y += max(part.y for part in row)

    def note(self, text: str) -> None:
        """A sentence in small type below the drawing."""
        for line in wrapped(text, self.width, NOTE):
            self.y += NOTE + 5
            self.text(0, self.y - 3, line, "soft", size=NOTE)

    def legend(self, names: Sequence[str], roles: Sequence[str], *, lines: bool = True) -> None:
        """One key per name, in as many rows as needed."""
        x, size, key = 0.0, 12, 22
        self.y += size
        for number, (name, role) in enumerate(zip(names, roles, strict=True)):
            shown = shorten(name, self.width - key - 8, size)
            wide = key + width_of(shown, size) + 16
            if x and x + wide - 16 > self.width:
                x, self.y = 0.0, self.y + size + 7
            middle = self.y - 4
            if lines:
                self.line(x, middle, x + 16, middle, role, stroke_width=2, stroke_dasharray=dash(number))
                self.marker(x + 8, middle, number, role)
            else:
                self.rect(x, middle - 5, 14, 10, role, rx=2)
            self.text(x + key, self.y, shown, size=size, tip=name if shown != name else None)
            x += wide
        self.y += 8


def _value(value: object) -> str:
    if isinstance(value, float):
        text = f"{value:.2f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return clean(value)
