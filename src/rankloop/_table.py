"""One small table: as plain text, in a terminal, in a notebook, as Markdown and as LaTeX."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

__all__ = ["Table", "Tabled"]

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "†": r"$^{\dagger}$",
        "±": r"$\pm$",
    }
)


@dataclass(frozen=True, repr=False)
class Table:
    """Cells as text; the first `left` columns hold words, the others numbers; `strong` cells are bold.

    >>> Table(("metric", "mean"), [("map", "0.25"), ("mrr", "0.5")], notes=["2 queries"])
    metric  mean
    map     0.25
    mrr      0.5
    2 queries
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    left: int = 1
    strong: frozenset[tuple[int, int]] = frozenset()

    def text(self) -> str:
        """With lines and colours if stdout is a terminal, plain otherwise."""
        if not sys.stdout.isatty():
            return self.plain()
        try:
            from rich.console import Console
        except ModuleNotFoundError:
            return self.plain()
        drawn = StringIO()
        Console(file=drawn, force_terminal=True, width=Console().width).print(self)
        return drawn.getvalue().rstrip("\n")

    def plain(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        body = [
            "  ".join(
                cell.ljust(width) if i < self.left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        return "\n".join([*([self.title] if self.title else []), *body, *self.notes])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()

    def __rich__(self) -> Any:
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=box.SIMPLE_HEAD, title=Text(self.title), title_justify="left", pad_edge=False)
        for i, name in enumerate(self.columns):
            table.add_column(Text(name), justify="left" if i < self.left else "right", overflow="fold")
        for r, row in enumerate(self.rows):
            cells = (Text(cell, "bold" if (r, i) in self.strong else "") for i, cell in enumerate(row))
            table.add_row(*cells)
        return Group(table, *(Text(note, "dim") for note in self.notes))

    def html(self) -> str:
        """HTML that loads nothing from elsewhere; text is escaped."""
        head = "".join(f"<th{self._side(i)}>{escape(name)}</th>" for i, name in enumerate(self.columns))
        body = "".join(
            "<tr>"
            + "".join(
                f"<td{self._side(i)}>{self._bold(escape(cell), r, i, '<b>', '</b>')}</td>"
                for i, cell in enumerate(row)
            )
            + "</tr>"
            for r, row in enumerate(self.rows)
        )
        title = f"<caption style='text-align:left'>{escape(self.title)}</caption>" if self.title else ""
        notes = "".join(f"<div style='opacity:.7'>{escape(note)}</div>" for note in self.notes)
        table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div>{table}{notes}</div>"

    def markdown(self) -> str:
        def line(cells: Sequence[str]) -> str:
            return "| " + " | ".join(cells) + " |"

        rule = ["---" if i < self.left else "---:" for i in range(len(self.columns))]
        rows = [
            [self._bold(cell.replace("|", r"\|"), r, i, "**", "**") for i, cell in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]
        lines = [line([name.replace("|", r"\|") for name in self.columns]), line(rule), *map(line, rows)]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])

    def latex(self) -> str:
        """A `tabular` with the rules of booktabs; the notes follow as comments."""

        def line(cells: Sequence[str]) -> str:
            return " & ".join(cells) + r" \\"

        sides = "l" * self.left + "r" * (len(self.columns) - self.left)
        rows = [
            [self._bold(cell.translate(_LATEX), r, i, r"\textbf{", "}") for i, cell in enumerate(row)]
            for r, row in enumerate(self.rows)
        ]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{sides}}}",
                r"\toprule",
                line([name.translate(_LATEX) for name in self.columns]),
                r"\midrule",
                *map(line, rows),
                r"\bottomrule",
                r"\end{tabular}",
                *(f"% {note}" for note in self.notes),
            ]
        )

    def _side(self, column: int) -> str:
        return f" style='text-align:{'left' if column < self.left else 'right'}'"

    def _bold(self, cell: str, row: int, column: int, before: str, after: str) -> str:
        return f"{before}{cell}{after}" if (row, column) in self.strong else cell


class Tabled:
    """A result that is shown as its table: as text, in a terminal, in a notebook."""

    def table(self) -> Table:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.table().text()

    def __rich__(self) -> Table:
        return self.table()

    def _repr_html_(self) -> str:
        return self.table().html()
