"""`rankloop learn`: a ranker from a data set and a click log, or from the log of a service."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, ReportFile, Seed, check_report
from rankloop.cli.options.cluster import Resumable
from rankloop.cli.options.group import grouped
from rankloop.cli.options.logs import JoinedLog
from rankloop.cli.options.reading import Reading

if TYPE_CHECKING:
    from rankloop.propensity import Propensity

__all__ = ["learn"]


@grouped
def learn(
    source: Annotated[
        str,
        typer.Argument(
            help="A data set (LETOR/SVMLight, Parquet, saved) with its LOG; or an index, an engine, or the "
            "TOML file of a service, whose own log is used if no LOG is given."
        ),
    ],
    log: Annotated[
        str | None,
        typer.Argument(
            help="The click log: Parquet, CSV, JSONL, shards, or see --log-format; or "
            "opensearch://host:9200/ubi_events."
        ),
    ] = None,
    propensity: Annotated[
        str | None, typer.Option(help="A curve (.json) or its values, 1,0.6,0.4; else it is estimated.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the ranker.")] = None,
    trees: Annotated[int, typer.Option(help="Trees of each candidate ranker.")] = 150,
    budget: Annotated[
        str, typer.Option(help="quick: one forest; usual: a stack of corrections; large: a longer stack.")
    ] = "usual",
    networks: Annotated[
        bool, typer.Option(help="Add networks to the stack (if PyTorch is installed), or learn one forest.")
    ] = True,
    exportable: Annotated[
        bool,
        typer.Option(
            "--exportable", help="Give a forest that every search engine can hold (see rankloop export)."
        ),
    ] = False,
    seed: Seed = 0,
    report: ReportFile = None,
    again: Annotated[
        bool, typer.Option("--again", help="For a service: learn even if there are no new searches.")
    ] = False,
    json: Json = False,
    *,
    logs: JoinedLog,
    work: Resumable,
    reading: Reading,
) -> None:
    """Learn from clicks, corrected for their bias, and estimate how well the new ranker would have done.

    The labels of a data set are not used. Documents of the log are docids of the data set, or row numbers.

    rankloop learn train.txt log.parquet --out fair.model

    rankloop learn train.txt opensearch://localhost:9200/ubi_events --out fair.model

    rankloop learn train.txt log.parquet --exportable --out fair.model

    rankloop learn opensearch://localhost:9200/ubi_events --out runs/learned

    rankloop learn train.txt log.shards --backend ray --out fair.model

    For an index or a service, the new version is registered with a report, and serves if it passes the gate.

    rankloop learn shop.index

    With an index and a LOG, the documents of the log are described by the features of the index:

    rankloop learn shop.index log.csv --columns query=q,document=sku,session=visit --out runs/learned
    """
    from rankloop.cli.options.learn_ubi import is_ubi, learn_ubi
    from rankloop.cli.options.outputs import show
    from rankloop.cli.options.sources import is_service
    from rankloop.engines.remote.address import is_address
    from rankloop.unbiased import candidates
    from rankloop.unbiased import learn as learn_from_log

    if log is None and is_ubi(source):
        if work.backend is not None or again:
            raise ValueError(
                "a log in an engine is read by one process, every time; leave --backend and --again out"
            )
        curve = None if propensity is None else _curve(propensity)
        chosen: dict[str, Any] = {"rankers": candidates(trees=trees), "networks": networks}
        chosen |= {"exportable": exportable, "budget": budget, "seed": seed}
        check_report(report)
        learn_ubi(source, out, logs.missing, json, report, logs.on_error, propensity=curve, **chosen)
        return
    work.check(reading)
    check_report(report)
    if log is None and is_service(source):
        others: dict[str, Any] = {"--out": out, "--propensity": propensity, "--report": report}
        others |= {"--columns": logs.columns, "--exportable": exportable or None}
        _learn_of_service(source, again, seed, json, others)
        return
    if log is None:
        raise ValueError(
            f"{source} is neither an index nor the TOML file of a service; a data set needs its click log: "
            f"rankloop learn {source} LOG"
        )
    options: dict[str, Any] = {
        "propensity": None if propensity is None else _curve(propensity),
        "rankers": candidates(trees=trees),
        "networks": networks,
        "exportable": exportable,
        "budget": budget,
        "seed": seed,
    }
    if is_service(source):
        if work.backend is not None:
            raise ValueError("an index learns in one process; leave --backend out")
        from rankloop.cli.options.learn_index import learn_index

        learn_index(source, logs.log(log), out, logs.missing, json, report, **options)
        return
    if work.backend is not None:
        if is_address(log) or logs.columns is not None:
            raise ValueError("--columns and logs in an engine are read by one process; leave --backend out")
        if logs.missing != "raise":
            raise ValueError("--missing drop needs the whole log in memory; leave it or --backend out")
        if logs.on_error == "skip":
            raise ValueError("--on-error skip does not work with --backend; leave one of them out")
        from rankloop.cli.options.cluster import learn_on

        found = learn_on(work, log, source, logs.log_format, report, **options)
    else:
        data = reading.dataset(source, labels=False)
        clicks = logs.of(log, data)
        found = learn_from_log(clicks, data, **options)
    if out is not None:
        found.ranker.save(out)
    if report is not None:
        from rankloop.report import report_of_learning

        report_of_learning(found, clicks).save(report)
    files: dict[str, Any] = {"data": str(source), "log": str(log), "out": None if out is None else str(out)}
    show(found, as_json=json, **files)
    if out is not None and not json:
        typer.echo(f"written to {out}")


def _learn_of_service(source: str, again: bool, seed: int, json: bool, others: dict[str, Any]) -> None:
    """One run of learning from the log of a service."""
    from rankloop._extras import MODULES, require_modules
    from rankloop.cli.options.outputs import show

    require_modules("Stemmer", *MODULES["serve"])
    from rankloop.serve.config import Config
    from rankloop.serve.learning.run import learn_once

    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ValueError(
            f"{given[0]} belongs to learning from a file: rankloop learn {source} LOG; a service learns from "
            "its own log, and keeps versions, curves and reports in its folder"
        )
    run = learn_once(source, again=again, seed=seed)
    show(run, as_json=json)
    if run.report is not None and not json:
        typer.echo(f"written to {Config.read(source).home / 'reports' / run.report}")


def _curve(text: str) -> "Propensity":
    """From a file that `Propensity.save` wrote, or from numbers."""
    from rankloop.propensity import Propensity

    if text.endswith(".json"):
        return Propensity.load(text)
    try:
        return Propensity.given([float(one) for one in text.split(",")])
    except ValueError as error:
        raise ValueError(
            f"--propensity is a .json file or numbers above 0 like 1,0.6,0.4; got {text}"
        ) from error
