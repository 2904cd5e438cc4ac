"""Commands that measure rankings: what they count, and where the figures go."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, Metrics, ReportFile, check_report

if TYPE_CHECKING:
    from rankloop.report import Report

__all__ = ["Measuring"]

FORMS = ("table", "json", "csv", "markdown", "latex")


@dataclass(frozen=True)
class Measuring:
    """Which metrics, how they count, and what is printed or written."""

    metric: Metrics = None
    convention: Annotated[
        str | None,
        typer.Option("--convention", help="Compute as lightgbm, xgboost, catboost, sklearn or trec does."),
    ] = None
    ties: Annotated[
        str | None,
        typer.Option("--ties", help="Count equal scores as: average (expected value), stable or worst."),
    ] = None
    empty: Annotated[
        str | None,
        typer.Option("--empty", help="Lists without a relevant document: nan (left out), zero or one."),
    ] = None
    per_query: Annotated[
        Path | None,
        typer.Option("--per-query", help="Also write each query's values (.csv, .json, .jsonl, .parquet)."),
    ] = None
    format: Annotated[
        str,
        typer.Option(
            "--format", help="Output format: table, json (--json for short), csv, markdown or latex."
        ),
    ] = "table"
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write what is printed to this file.")] = (
        None
    )
    report: ReportFile = None
    json: Json = False

    @property
    def rules(self) -> dict[str, Any]:
        """The rules of counting for `evaluate` and `compare`."""
        return {"convention": self.convention, "ties": self.ties, "empty": self.empty}

    def check(self) -> None:
        """Refuse a format or a report that cannot be written, before anything is computed."""
        check_report(self.report)
        _ = self.form

    @property
    def form(self) -> str:
        """One of `FORMS`; `--json` is short for `--format json`."""
        from rankloop._names import one_of

        one_of("format", self.format, FORMS)
        if self.json and self.format not in ("table", "json"):
            raise ValueError(f"--json and --format {self.format} ask for two formats; leave one out")
        return "json" if self.json else self.format

    def show(self, found: Any, page: "Callable[[Any], Report]", **files: Any) -> None:
        """Print an evaluation or a comparison or write it to a file, with what else was asked for."""
        from rankloop._atomic import replacing

        if self.per_query is not None:
            _write_frame(found.per_query, self.per_query)
        if self.report is not None:
            page(found).save(self.report)
        text = self._text(found, files)
        if self.out is None:
            typer.echo(text)
            return
        with replacing(self.out) as beside:
            beside.write_text(text + "\n", encoding="utf-8")
        typer.echo(f"written to {self.out}")

    def _text(self, found: Any, files: dict[str, Any]) -> str:
        import json

        if self.form == "json":
            return json.dumps({**files, **found.to_dict()}, indent=2, allow_nan=False)
        if self.form == "csv":
            return str(found.to_frame().fill_nan(None).write_csv().rstrip("\n"))
        if self.form == "table":
            return repr(found) if self.out is None else str(found.table().plain())
        return str(found.to_markdown() if self.form == "markdown" else found.to_latex())


def _write_frame(frame: Any, path: Path) -> None:
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
