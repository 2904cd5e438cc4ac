"""A figure, the result of every plot."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rankloop._atomic import replacing
from rankloop.report.drawing.canvas import Canvas, clean, tag
from rankloop.report.drawing.style import STYLE

__all__ = ["Figure"]

WIDE, NARROW, EDGE = 720, 350, 12


@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """A drawing, made for each width, so that text keeps its size on a phone.

    `title` and `description` are for screen readers. A notebook shows the figure by itself.

    >>> figure = Figure("Nothing", "An empty figure.", lambda canvas: canvas.heading("Nothing"))
    >>> figure
    Figure('Nothing')
    >>> figure.svg[:5], "<style>" in figure.svg, "<style>" in figure.inline()
    ('<svg ', True, False)
    """

    title: str
    description: str
    draw: Callable[[Canvas], None]

    @property
    def svg(self) -> str:
        """The figure as a self-contained file."""
        return self.at(WIDE)

    def at(self, width: float) -> str:
        """The self-contained figure at another width, in pixels."""
        return self._drawn(width, alone=True)

    def inline(self, width: float = WIDE) -> str:
        """The figure without its style, for a page that has `STYLE`."""
        return self._drawn(width, alone=False)

    @property
    def html(self) -> str:
        """For a page that has `STYLE`: a wide and a narrow drawing; the style shows the one that fits."""
        wide = f'<div class="rl-wide">{self.inline(WIDE)}</div>'
        return f'<figure class="rl-figure">{wide}<div class="rl-narrow">{self.inline(NARROW)}</div></figure>'

    def save(self, path: str | Path) -> None:
        """Write the figure to an .svg file."""
        if Path(path).suffix.lower() != ".svg":
            raise ValueError(f"a figure is saved as .svg, got {path}; a Report makes .html")
        with replacing(path) as beside:
            beside.write_text(self.svg, encoding="utf-8")

    def _drawn(self, width: float, *, alone: bool) -> str:
        edge = EDGE if alone else 0
        canvas = Canvas(width - 2 * edge)
        self.draw(canvas)
        height = canvas.y + 2 * edge
        about = tag("title", clean(self.title)) + tag("desc", clean(self.description))
        style = tag("style", STYLE) + tag("rect", width=width, height=height, class_="paper") if alone else ""
        return tag(
            "svg",
            about,
            style,
            tag("g", *canvas.parts, transform=f"translate({edge} {edge})"),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width:g} {height:.0f}",
            width=f"{width:g}" if alone else None,
            height=f"{height:.0f}" if alone else None,
            class_="rl-svg",
            role="img",
            font_family="system-ui, sans-serif",
        )

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"
