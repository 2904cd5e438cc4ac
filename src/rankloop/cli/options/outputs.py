"""Output of commands: a table, JSON, a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import polars

__all__ = ["show", "write_frame"]


def show(found: Any, *, as_json: bool, **files: Any) -> None:
    """Print a result as a table, or as JSON together with the files it came from."""
    if as_json:
        typer.echo(json.dumps({**files, **found.to_dict()}, indent=2, allow_nan=False))
    else:
        typer.echo(repr(found))


def write_frame(frame: "polars.DataFrame", path: Path) -> None:
    """Write a frame in the format of the file's name; nan becomes null."""
    from rankloop._atomic import replacing

    writers = {
        ".csv": "write_csv",
        ".json": "write_json",
        ".jsonl": "write_ndjson",
        ".parquet": "write_parquet",
    }
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise ValueError(f"cannot write {path}: the name must end in {', '.join(writers)}")
    with replacing(path) as beside:
        getattr(frame.fill_nan(None), writer)(beside)
