"""Tutorials are notebooks without outputs; the site shows them as pages, run or not.

`run` executes the cells of a notebook in one namespace, as a kernel would, and keeps what they print and the
value of their last line, drawn where it is a figure. The tests run every notebook this way.
"""

import ast
import contextlib
import html
import io
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Cell", "missing_data", "page", "read", "run"]


@dataclass
class Cell:
    """A cell: its kind (`markdown` or `code`), its text and, once run, what it gave as Markdown."""

    kind: str
    text: str
    outputs: list[str] = field(default_factory=list)


def missing_data(path: Path) -> str | None:
    """The folder of a collection that a notebook wants and this machine has not, or None."""
    wanted = json.loads(path.read_text(encoding="utf-8"))["metadata"].get("rankloop", {}).get("data")
    root = os.environ.get("RANKLOOP_DATA")
    return None if not wanted or (root and (Path(root) / wanted).is_dir()) else str(wanted)


def read(path: Path) -> list[Cell]:
    """The cells of a notebook; one that holds outputs is refused, since they would age."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    if notebook.get("nbformat") != 4:
        raise ValueError(f"{path.name} must be a notebook of format 4, got {notebook.get('nbformat')!r}")
    for number, cell in enumerate(notebook["cells"], 1):
        if cell.get("outputs") or cell.get("execution_count"):
            raise ValueError(f"{path.name} holds outputs in cell {number}; clear them before it is saved")
    return [Cell(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def run(cells: list[Cell], name: str) -> None:
    """Execute the code cells in order, and keep their outputs; what a cell raises, this raises."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells, 1):
        if cell.kind == "code":
            cell.outputs = _execute(cell.text, f"{name}, cell {number}", space)


def page(cells: list[Cell]) -> str:
    """The Markdown of a notebook."""
    return "\n\n".join(
        part
        for cell in cells
        for part in (
            [cell.text] if cell.kind == "markdown" else [f"```python\n{cell.text}\n```", *cell.outputs]
        )
    )


def _execute(code: str, name: str, space: dict[str, Any]) -> list[str]:
    body = ast.parse(code, name).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not code.rstrip().endswith(";") else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec"), space)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), space)
    outputs = [_text(printed.getvalue())] if printed.getvalue().strip() else []
    if value is not None:
        outputs.append(_shown(value))
    return outputs


def _shown(value: Any) -> str:
    if hasattr(value, "_repr_svg_"):
        return f'<div class="output figure">{" ".join(value.html.split())}</div>'  # a drawing for each width
    return _text(repr(value))


def _text(text: str) -> str:
    return f'<pre class="output">{html.escape(text.rstrip(), quote=False)}</pre>'
