"""`rankloop learn`: a ranker from a data set and a click log, or from what a service recorded."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.cluster import Backend, Checkpoint, Workers, check_on
from rankloop.cli.options.reports import ReportFile, check_report

if TYPE_CHECKING:
    from rankloop.propensity import Propensity

__all__ = ["learn"]


def learn(
    data: Annotated[
        Path,
        typer.Argument(
            help="The documents with features (LETOR/SVMLight, Parquet, saved); alone: the config or index "
            "of a service."
        ),
    ],
    log: Annotated[
        Path | None, typer.Argument(help="The click log: Parquet, CSV, JSONL, or another --format.")
    ] = None,
    source: Annotated[str, typer.Option("--from", help="What to learn from: clicks.")] = "clicks",
    propensity: Annotated[
        str | None,
        typer.Option("--propensity", help="A curve (.json), or its values: 1,0.6,0.4. Else it is found."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to save the ranker.")] = None,
    trees: Annotated[int, typer.Option("--trees")] = 150,
    budget: Annotated[
        str, typer.Option("--budget", help="usual, or large: fewer features, many rankers vote, more time.")
    ] = "usual",
    format: Annotated[
        str | None, typer.Option("--format", help="Of the log: parquet, csv, jsonl, yandex, trec or graphcm.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    report: ReportFile = None,
    again: Annotated[
        bool, typer.Option("--again", help="Of a service: learn even if nobody searched since the last time.")
    ] = False,
    backend: Backend = None,
    workers: Workers = None,
    checkpoint: Checkpoint = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Learn from clicks without their bias, and say how the new ranker would have done.

    Labels of the data set are not looked at. Documents of the log are docids of the data set, or row numbers.

    rankloop learn train.txt log.parquet --from clicks --out fair.model

    rankloop learn train.txt log.shards --backend ray --out fair.model

    With the config (or the index) of a service alone, learn from what it recorded: the new version is
    registered with a report, and serves if it passes the gate of the config.

    rankloop learn shop.toml
    """
    from rankloop._names import one_of
    from rankloop.cli.options.outputs import show
    from rankloop.clicks import read_clicks
    from rankloop.data import open_dataset
    from rankloop.unbiased import candidates
    from rankloop.unbiased import learn as learned_from

    one_of("source", source, ("clicks",))
    check_on(backend, workers=workers, checkpoint=checkpoint)
    check_report(report)
    if log is None:
        _serve(data, again, seed, json, {"--out": out, "--propensity": propensity, "--report": report})
        return
    how: dict[str, Any] = {
        "propensity": None if propensity is None else _curve(propensity),
        "rankers": candidates(trees=trees),
        "budget": budget,
        "seed": seed,
    }
    if backend is not None:
        from rankloop.cli.options.cluster import learn_on

        found = learn_on(backend, workers, log, data, format, report, checkpoint=checkpoint, **how)
    else:
        clicks = read_clicks(log, format=format)
        found = learned_from(clicks, open_dataset(data), **how)
    if out is not None:
        found.ranker.save(out)
    if report is not None:
        from rankloop.report import report_of_learning

        report_of_learning(found, clicks).save(report)
    files: dict[str, Any] = {"data": str(data), "log": str(log), "out": None if out is None else str(out)}
    show(found, as_json=json, **files)
    if out is not None and not json:
        typer.echo(f"written to {out}")


def _serve(config: Path, again: bool, seed: int, json: bool, others: dict[str, Any]) -> None:
    """One run of learning in a service."""
    from rankloop.cli.options.outputs import show
    from rankloop.serve.config import Config
    from rankloop.serve.learning.run import learn_once

    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ValueError(
            f"{given[0]} belongs to learning from files: rankloop learn DATA LOG; a service keeps its "
            "versions, curves and reports in its own folder"
        )
    run = learn_once(config, again=again, seed=seed)
    show(run, as_json=json)
    if run.report is not None and not json:
        typer.echo(f"written to {Config.read(config).home / 'reports' / run.report}")


def _curve(told: str) -> "Propensity":
    """From a file that `Propensity.save` wrote, or from numbers."""
    from rankloop.propensity import Propensity

    if told.endswith(".json"):
        return Propensity.load(told)
    try:
        return Propensity.given([float(one) for one in told.split(",")])
    except ValueError as error:
        raise ValueError(
            f"--propensity is a .json file or numbers above 0 like 1,0.6,0.4; got {told}"
        ) from error
