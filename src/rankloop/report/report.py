"""One self-contained page of text, tables and figures."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from rankloop import __version__
from rankloop._atomic import replacing
from rankloop.report.drawing.canvas import clean, legal
from rankloop.report.drawing.page_style import PAGE_STYLE
from rankloop.report.drawing.scale import number_text
from rankloop.report.drawing.style import STYLE
from rankloop.report.figure import Figure

__all__ = ["Report"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Report:
    """Sections one below the other, each with a heading and any number of parts.

    A part is plain text, a `Figure`, a table (or a result that has one), or a mapping of facts.

    >>> report = Report("Two rankers").add("Verdict", "The new one is better.", {"queries": 120})
    >>> report
    Report('Two rankers', 1 section)
    >>> "<script" in report.add("A <script>", "is text").html
    False
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title = title
        self.subtitle = subtitle
        self.figures: list[Figure] = []
        self._sections: list[tuple[str, str, bool]] = []

    def add(self, heading: str, *parts: Any, folded: bool = False) -> Self:
        """Append a section, collapsed if `folded`; parts that are None are left out."""
        known = [part for part in parts if part is not None]
        self.figures += [part for part in known if isinstance(part, Figure)]
        self._sections.append((heading, "".join(_part_html(part) for part in known), folded))
        return self

    @property
    def html(self) -> str:
        """The whole page."""
        subtitle = f'<p class="soft">{clean(self.subtitle)}</p>' if self.subtitle else ""
        body = "".join(_section(number, *one) for number, one in enumerate(self._sections, 1))
        made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
            f"<title>{clean(self.title)}</title><style>{STYLE}{PAGE_STYLE}</style></head>"
            f'<body class="rl-page"><header><h1>{clean(self.title)}</h1>{subtitle}</header>{self._contents()}'
            f"<main>{body}</main><footer>Written by rankloop {__version__}, {made}.</footer></body></html>\n"
        )

    def save(self, path: str | Path) -> None:
        """Write the page to an .html file."""
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"a report is saved as .html, got {path}")
        with replacing(path) as beside:
            beside.write_text(self.html, encoding="utf-8")

    def save_plots(self, folder: str | Path) -> list[Path]:
        """Write every figure to an .svg file of its own and return the paths."""
        paths = []
        for number, figure in enumerate(self.figures, 1):
            name = re.sub(r"[^a-z0-9]+", "-", figure.title.lower()).strip("-")[:50] or "figure"
            paths.append(Path(folder) / f"{number:02d}-{name}.svg")
            figure.save(paths[-1])
        return paths

    def _contents(self) -> str:
        if len(self._sections) < 3:
            return ""
        links = "".join(
            f'<a href="#s{n}">{clean(head)}</a> ' for n, (head, *_) in enumerate(self._sections, 1)
        )
        return f'<nav aria-label="Contents">{links}</nav>'

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox srcdoc="{clean(self.html)}" style="width:100%;height:640px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        count = len(self._sections)
        return f"Report({self.title!r}, {count} section{'' if count == 1 else 's'})"


def _section(number: int, heading: str, body: str, folded: bool) -> str:
    if folded:
        return f'<details id="s{number}"><summary>{clean(heading)}</summary>{body}</details>'
    return f'<section id="s{number}"><h2>{clean(heading)}</h2>{body}</section>'


def _part_html(part: Any) -> str:
    if isinstance(part, Figure):
        return part.html
    if isinstance(part, str):
        return f"<p>{clean(part)}</p>"
    if isinstance(part, Mapping):
        facts = (f"<dt>{clean(key)}</dt><dd>{_value_text(value)}</dd>" for key, value in part.items())
        return f"<dl>{''.join(facts)}</dl>"
    from rankloop._table import Table

    table = part if isinstance(part, Table) else getattr(part, "table", None)
    if callable(table):
        table = table()
    if not isinstance(table, Table):
        raise ValueError(
            f"a part of a report is text, a Figure, a table or a mapping, got {type(part).__name__}"
        )
    return f'<div class="table">{legal(table.html())}</div>'


def _value_text(value: Any) -> str:
    return clean(
        number_text(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
    )
