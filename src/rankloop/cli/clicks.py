"""`rankloop clicks`: check a click log, export one, fit click models, estimate propensities."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, Seed
from rankloop.cli.options.group import grouped
from rankloop.cli.options.help import Group
from rankloop.cli.options.logs import JoinedLog, LogReading
from rankloop.cli.options.reading import Reading

__all__ = ["check", "clicks", "export", "fit", "judge", "propensity"]

clicks = typer.Typer(
    name="clicks",
    help="Click logs: check and export them, fit click models, estimate propensities.",
    no_args_is_help=True,
    cls=Group,
)

Log = Annotated[str, typer.Argument(help="A click log: Parquet, CSV, JSONL, shards, or see --log-format.")]


@clicks.command()
@grouped
def check(log: Log, json: Json = False, *, logs: LogReading) -> None:
    """Show which estimators a log supports, why it does not support the others, and what to change.

    rankloop clicks check log.parquet
    """
    from rankloop.cli.options.outputs import show
    from rankloop.clicks import check as report_on

    show(report_on(logs.log(log)), as_json=json, log=log)


@clicks.command()
def export(
    service: Annotated[
        Path, typer.Argument(metavar="CONFIG|INDEX", help="A service, as for rankloop serve.")
    ],
    folder: Annotated[Path, typer.Argument(help="A new folder to write to.")],
    days: Annotated[float | None, typer.Option(help="Only this many last days.")] = None,
) -> None:
    """Write the log of a service as Parquet files; clicks.parquet is a click log.

    rankloop clicks export shop.index shop-events --days 30
    """
    import time

    from rankloop.serve.config import Config
    from rankloop.serve.events.store import Store

    with Store.open(Config.read(service).database) as store:
        store.export(folder, since=None if days is None else time.time() - 86_400 * days)
    typer.echo(f"written to {folder}")


@clicks.command()
@grouped
def fit(
    log: Log,
    model: Annotated[
        list[str] | None, typer.Option(help="pbm, dbn, ubm, ...; repeatable. By default all.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="A log to evaluate on; by default the same log.")] = None,
    features: Annotated[
        str | None, typer.Option(help="A data set whose features predict attraction.")
    ] = None,
    iterations: Annotated[int, typer.Option(help="EM iterations at most.")] = 200,
    prior: Annotated[
        float | None,
        typer.Option(help="Strength of the priors, in impressions; by default chosen on the log."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to save the model; needs one --model.")
    ] = None,
    json: Json = False,
    *,
    logs: JoinedLog,
    reading: Reading,
) -> None:
    """Fit click models and print how well each predicts, by perplexity (1 is perfect).

    rankloop clicks fit log.parquet --model pbm --model dbn

    rankloop clicks fit train.parquet --model dbn --test test.parquet --out dbn.model
    """
    import rankloop.clicks as family
    from rankloop.cli.options.outputs import show

    if iterations < 1:
        raise ValueError(f"--iterations is 1 or more, got {iterations}")
    if out is not None and (model is None or len(model) != 1):
        raise ValueError("--out saves one model; name it with one --model")
    data = None if features is None else reading.dataset(features, labels=False)
    train = logs.of(log, data)
    tested = train if test is None else logs.of(test, data)
    names = model or [name for name in sorted(family.models()) if _fits(name, train.layout is not None, data)]
    rows = []
    for name in names:
        fitted = family.model(name)(iterations=iterations, prior="auto" if prior is None else prior).fit(
            train, features=data
        )
        unconditional = fitted.perplexity(tested, data)
        rows.append(
            {
                "model": name,
                "log_likelihood": _finite(float(fitted.log_likelihood(tested, data).mean())),
                "perplexity": _finite(unconditional.overall),
                "conditional_perplexity": _finite(fitted.perplexity(tested, data, given_clicks=True).overall),
                "perplexity_by_rank": [_finite(one) for one in unconditional.per_rank.tolist()],
                "iterations": len(fitted.history_),
            }
        )
        if out is not None:
            fitted.save(out)
    show(_Fits(rows), as_json=json, log=log, test=test or log)


@clicks.command()
@grouped
def judge(
    log: Log,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file of judgments to write.")],
    model: Annotated[
        str, typer.Option(help="A click model (pbm, ubm, dbn, ...), or the file of one.")
    ] = "pbm",
    format: Annotated[
        str, typer.Option("--format", help="quepid, quepid-detailed, quepid-book, workbench, trec, ...")
    ] = "quepid-detailed",
    grades: Annotated[
        int | None, typer.Option(help="Whole grades from 0 to this, for tools without fractions.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    *,
    logs: LogReading,
) -> None:
    """Judge the documents of a log by a click model, and write the judgments for a relevance tool.

    rankloop clicks judge log.parquet --format quepid --grades 3 --out case.csv
    """
    from rankloop.clicks import judge as judged_by
    from rankloop.clicks import load_model
    from rankloop.data import write_judgments

    chosen = load_model(model) if Path(model).is_file() else model
    judged = judged_by(logs.log(log), chosen, confidence=confidence)
    write_judgments(judged if grades is None else judged.graded(grades), out, format=format)
    typer.echo(f"{len(judged):,} judgments written to {out}")


@clicks.command()
@grouped
def propensity(
    log: Log,
    method: Annotated[
        str, typer.Option(help="randomized, swap_intervention, harvest, ...; auto chooses by the log.")
    ] = "auto",
    features: Annotated[
        str | None, typer.Option(help="The data set of the documents, for methods that model relevance.")
    ] = None,
    layout: Annotated[str | None, typer.Option(help="The page layout to estimate for.")] = None,
    depth: Annotated[int | None, typer.Option(help="The last rank of the curve.")] = None,
    monotone: Annotated[bool, typer.Option("--monotone", help="Force a curve that never rises.")] = False,
    check_log: Annotated[
        bool,
        typer.Option(
            "--identifiability",
            help="Instead of a curve: whether this log identifies it, and what would help.",
        ),
    ] = False,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the curve (.json).")] = None,
    json: Json = False,
    *,
    logs: JoinedLog,
    reading: Reading,
) -> None:
    """Estimate the probability that each rank is examined, with 95 % intervals.

    rankloop clicks propensity log.parquet --out curve.json

    rankloop clicks propensity log.parquet --method regression_em --features data.txt

    rankloop clicks propensity log.parquet --identifiability
    """
    import warnings

    from rankloop.cli.options.outputs import show
    from rankloop.propensity import IdentifiabilityWarning, TrustWarning, estimate, identifiability

    data = None if features is None else reading.dataset(features, labels=False)
    read = logs.of(log, data)
    if check_log:
        show(identifiability(read, data, layout=layout), as_json=json, log=log)
        return
    with warnings.catch_warnings():  # the curve prints them itself
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        if not json:  # its table has the sentence too
            warnings.simplefilter("ignore", TrustWarning)
        curve = estimate(read, data, method=method, layout=layout, depth=depth, monotone=monotone, seed=seed)
    if out is not None:
        curve.save(out)
    show(curve, as_json=json, log=log)


def _fits(name: str, has_layouts: bool, data: Any) -> bool:
    from rankloop.clicks import models

    kind = models()[name]
    explained = data is None or bool(kind.documents and kind.from_features)
    return explained and (has_layouts or name != "contextualpbm")


def _finite(value: float) -> float | None:
    """JSON has no infinity: a model that gives an event probability 0 has no figure."""
    return value if abs(value) < float("inf") else None


@dataclass(frozen=True, repr=False)
class _Fits:
    rows: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        return {"models": self.rows}

    def __repr__(self) -> str:
        from rankloop._table import Table

        columns = ("model", "log-likelihood", "perplexity", "given clicks", "iterations")
        figures = ("log_likelihood", "perplexity", "conditional_perplexity")
        cells = [
            (row["model"], *(_text(row[name]) for name in figures), str(row["iterations"]))
            for row in sorted(self.rows, key=lambda row: row["perplexity"] or float("inf"))
        ]
        return Table(columns, cells).text()


def _text(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4f}"
