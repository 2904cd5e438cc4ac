"""Output of commands: a table, JSON, a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import polars

__all__ = ["form_of_output", "show", "show_as", "write_frame"]

FORMS = ("table", "json", "csv", "markdown", "latex")


def form_of_output(format: str, as_json: bool) -> str:
    """One of `FORMS`; `--json` is short for `--format json`."""
    from rankloop._names import one_of

    one_of("format", format, FORMS)
    if as_json and format not in ("table", "json"):
        raise ValueError(f"--json and --format {format} ask for two formats; leave one out")
    return "json" if as_json else format


def show_as(found: Any, form: str, out: Path | None, **files: Any) -> None:
    """Print an evaluation or a comparison in one of `FORMS`, or write it to a file."""
    from rankloop._atomic import replacing

    if form == "json":
        text = json.dumps({**files, **found.to_dict()}, indent=2, allow_nan=False)
    elif form == "csv":
        text = found.to_frame().fill_nan(None).write_csv().rstrip("\n")
    elif form == "table":
        text = repr(found) if out is None else found.table().plain()
    else:
        text = found.to_markdown() if form == "markdown" else found.to_latex()
    if out is None:
        typer.echo(text)
        return
    with replacing(out) as beside:
        beside.write_text(text + "\n", encoding="utf-8")
    typer.echo(f"written to {out}")


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
