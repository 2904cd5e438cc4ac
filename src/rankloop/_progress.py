"""Progress bars for long work, drawn only on a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Advance", "progress"]


class Advance(Protocol):
    """Adds what was done since the last call, with a note to show beside the bar."""

    def __call__(self, by: float = 1, note: str = "") -> None: ...


@contextmanager
def progress(title: str, total: float | None) -> Iterator[Advance]:
    """Gives `advance(by, note="")`; draws a bar if stderr is a terminal.

    >>> with progress("reading", total=2) as advance:
    ...     advance(1)
    ...     advance(1, "ndcg@10 0.42")
    """
    if not sys.stderr.isatty():
        yield _silent
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        yield _silent
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, note="")

        def advance(by: float = 1, note: str = "") -> None:
            if note:
                bar.update(task, advance=by, note=note)
            else:
                bar.update(task, advance=by)

        yield advance


def _silent(by: float = 1, note: str = "") -> None:
    """There is no terminal to draw on."""
