"""`rankloop report`: a page of figures and tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, Metrics, Seed, check_report
from rankloop.cli.options.group import grouped
from rankloop.cli.options.logs import LogReading
from rankloop.cli.options.reading import Reading

if TYPE_CHECKING:
    from rankloop.report import Report

__all__ = ["report"]

_SQLITE = b"SQLite format 3\0"


@grouped
def report(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="A run folder, a ranker, a click log, interleaved pages, a service (.toml), or rankings."
        ),
    ],
    judgments: Annotated[
        str | None,
        typer.Option(
            "--qrels",
            "--data",
            "-j",
            help="To compare rankings: TREC qrels or a data set. For a ranker: a data set.",
        ),
    ] = None,
    metric: Metrics = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", help="For a ranker: draw the list of this query.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page (.html); by default report.html.")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(help="Write each figure to this folder as .svg instead.")
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    *,
    logs: LogReading,
    reading: Reading,
) -> None:
    """Write one self-contained page with figures and tables; or, with --plots, the figures alone.

    rankloop report runs/trees

    rankloop report log.parquet --out log.html

    rankloop report shop.toml

    rankloop report base.run new.run --qrels qrels.txt --plots figures
    """
    import json as writer

    check_report(out)
    made = _made(sources, judgments, metric, query, logs, seed, reading)
    drawn = [] if plots is None else made.save_plots(plots)
    page = out if out is not None or plots is not None else Path("report.html")
    if page is not None:
        made.save(page)
    if json:
        facts = {
            "title": made.title,
            "page": None if page is None else str(page),
            "plots": [*map(str, drawn)],
        }
        typer.echo(writer.dumps(facts, indent=2))
        return
    if page is not None:
        typer.echo(f"{made.title}: {len(made.figures)} figures on one page, {page}")
    if plots is not None:
        typer.echo(f"{len(drawn)} figures written to {plots}")


def _made(
    sources: list[str],
    judgments: str | None,
    metric: list[str] | None,
    query: str | None,
    logs: LogReading,
    seed: int,
    reading: Reading,
) -> "Report":
    """The report for the kind of the files."""
    import zipfile

    from rankloop import report as family

    if len(sources) > 1:
        return family.report_of_comparison(_compared(sources, judgments, metric, seed, reading))
    source = Path(sources[0])
    if not source.exists():
        raise FileNotFoundError(f"there is no file or folder {source}")
    if source.is_dir():
        return family.report_of_run(
            source, None if judgments is None else reading.dataset(judgments), query=query
        )
    if zipfile.is_zipfile(source):
        from rankloop.rankers import load

        lists = None if judgments is None else reading.dataset(judgments)
        metrics = metric or ["ndcg@10", "map", "mrr"]
        return family.report_of_ranker(load(source), lists, metrics=metrics, query=query, title=source.stem)
    if _interleaved(source):
        from rankloop.interleaving import read_duel

        return family.report_of_duel(read_duel(source), title=f"Interleaving, {source.name}")
    return family.report_of_log(_log(source, logs), seed=seed, title=f"Click log, {source.name}")


def _compared(
    sources: list[str], judgments: str | None, metric: list[str] | None, seed: int, reading: Reading
) -> Any:
    from rankloop.cli.options.inputs import distinct_names, read_judgments
    from rankloop.metrics.compare import compare

    if judgments is None:
        raise ValueError(
            "several files are rankings to compare: give the judgments, --qrels FILE or --data FILE"
        )
    systems = {name: reading.ranking(path, judgments) for name, path in distinct_names(sources).items()}
    return compare(systems, read_judgments(judgments, reading), metric or None, seed=seed)


def _log(path: Path, logs: LogReading) -> Any:
    """A click log in a file, or the one of a service, by its configuration (.toml) or its database."""
    from rankloop.clicks import ClickLog

    with path.open("rb") as file:
        stored = file.read(len(_SQLITE)) == _SQLITE
    if not stored and path.suffix.lower() != ".toml":
        return logs.log(path)
    from rankloop._extras import require

    require("sqlalchemy", "serve")
    from rankloop.serve import Config, Store

    with Store.open(f"sqlite:///{path}" if stored else Config.read(path).database) as store:
        return ClickLog.from_store(store)


def _interleaved(path: Path) -> bool:
    """Whether the first line of a file is an interleaved page."""
    import json

    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        return False
    with path.open(encoding="utf-8") as lines:
        first = lines.readline()
    try:
        line = json.loads(first)
    except json.JSONDecodeError:
        return False
    return isinstance(line, dict) and {"page", "clicks", "names"} <= set(line)
