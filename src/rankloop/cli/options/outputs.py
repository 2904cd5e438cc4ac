"""Output of commands: a table or JSON."""

import json
from typing import Any

import typer

__all__ = ["show"]


def show(found: Any, *, as_json: bool, **files: Any) -> None:
    """Print a result as a table, or as JSON together with the files it came from."""
    if as_json:
        typer.echo(json.dumps({**files, **found.to_dict()}, indent=2, allow_nan=False))
    else:
        typer.echo(repr(found))
