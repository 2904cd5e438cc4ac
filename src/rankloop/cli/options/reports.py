"""The flag of commands that end in a page."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ReportFile", "check_report"]

ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Also write a page with figures and tables (.html).")
]


def check_report(path: Path | None) -> None:
    """Said before the work is done, not after it."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"a report is a page: name an .html file, got {path}")
