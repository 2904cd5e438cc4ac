"""`rankloop clicks`: what a click log can support, models of it, and how likely each rank was to be seen."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["check", "clicks", "export", "fit", "propensity"]

clicks = typer.Typer(
    name="clicks",
    help="Click logs: check and export them, fit models, find propensities.",
    no_args_is_help=True,
)

Log = Annotated[Path, typer.Argument(help="A click log: Parquet, CSV, JSONL, or another --format.")]
Format = Annotated[
    str | None, typer.Option("--format", help="parquet, csv, jsonl, yandex, trec or graphcm; else by ending.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@clicks.command()
def check(log: Log, format: Format = None, json: Json = False) -> None:
    """Which estimators a log supports, why not the others, and what to change.

    rankloop clicks check log.parquet
    """
    from rankloop.cli.options.outputs import show
    from rankloop.clicks import check as report_on
    from rankloop.clicks import read_clicks

    show(report_on(read_clicks(log, format=format)), as_json=json, log=str(log))


@clicks.command()
def export(
    service: Annotated[Path, typer.Argument(metavar="CONFIG|INDEX", help="A service, as rankloop serve.")],
    folder: Annotated[Path, typer.Argument(help="A new folder to write to.")],
    days: Annotated[float | None, typer.Option("--days", help="Only the last so many days.")] = None,
) -> None:
    """Write what a service has shown and recorded as Parquet files; clicks.parquet is a click log.

    rankloop clicks export shop.index shop-events --days 30
    """
    import time

    from rankloop.serve.config import Config
    from rankloop.serve.events.store import Store

    with Store.open(Config.read(service).database) as store:
        store.export(folder, since=None if days is None else time.time() - 86_400 * days)
    typer.echo(f"written to {folder}")


@clicks.command()
def fit(
    log: Log,
    model: Annotated[
        list[str] | None, typer.Option("--model", help="pbm, dbn, ubm, ...; repeat it. All without it.")
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="A log to measure on; else the same.")] = None,
    features: Annotated[
        Path | None, typer.Option("--features", help="A data set whose features explain documents.")
    ] = None,
    iterations: Annotated[int, typer.Option("--iterations")] = 200,
    prior: Annotated[float, typer.Option("--prior", help="Strength of the priors, in impressions.")] = 1.0,
    out: Annotated[Path | None, typer.Option("--out", help="Save the one model that is named.")] = None,
    format: Format = None,
    json: Json = False,
) -> None:
    """Fit click models and say how well each predicts: perplexity, 1 is certainty.

    rankloop clicks fit log.parquet --model pbm --model dbn

    rankloop clicks fit train.parquet --model dbn --test test.parquet --out dbn.model
    """
    import rankloop.clicks as family
    from rankloop.cli.options.outputs import show
    from rankloop.data import open_dataset

    if out is not None and (model is None or len(model) != 1):
        raise ValueError("--out saves one model; name it with one --model")
    train = family.read_clicks(log, format=format)
    tested = train if test is None else family.read_clicks(test, format=format)
    data = None if features is None else open_dataset(features)
    names = model or [name for name in sorted(family.models()) if _fits(name, train.layout is not None, data)]
    rows = []
    for name in names:
        fitted = family.model(name)(iterations=iterations, prior=prior).fit(train, features=data)
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
    show(_Fits(rows), as_json=json, log=str(log), test=str(test or log))


@clicks.command()
def propensity(
    log: Log,
    method: Annotated[
        str, typer.Option("--method", help="randomized, swap_intervention, harvest, ...; auto picks.")
    ] = "auto",
    features: Annotated[
        Path | None, typer.Option("--features", help="The data set of the documents, for joint fits.")
    ] = None,
    layout: Annotated[str | None, typer.Option("--layout", help="The page layout the curve is of.")] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="The last rank of the curve.")] = None,
    monotone: Annotated[bool, typer.Option("--monotone", help="A curve that never rises.")] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Instead of a curve: can this log tell it, and what would help?")
    ] = False,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    out: Annotated[Path | None, typer.Option("--out", help="Save the curve (.json).")] = None,
    format: Format = None,
    json: Json = False,
) -> None:
    """How likely each rank was to be seen, with 95 % intervals.

    rankloop clicks propensity log.parquet --out curve.json

    rankloop clicks propensity log.parquet --method regression_em --features data.txt

    rankloop clicks propensity log.parquet --report
    """
    import warnings

    from rankloop.cli.options.outputs import show
    from rankloop.clicks import read_clicks
    from rankloop.data import open_dataset
    from rankloop.propensity import IdentifiabilityWarning, estimate, identifiability

    read = read_clicks(log, format=format)
    data = None if features is None else open_dataset(features)
    if report:
        show(identifiability(read, data, layout=layout), as_json=json, log=str(log))
        return
    with warnings.catch_warnings():  # the curve prints them itself
        warnings.simplefilter("ignore", IdentifiabilityWarning)
        curve = estimate(read, data, method=method, layout=layout, depth=depth, monotone=monotone, seed=seed)
    if out is not None:
        curve.save(out)
    show(curve, as_json=json, log=str(log))


def _fits(name: str, has_layouts: bool, data: Any) -> bool:
    from rankloop.clicks import models

    kind = models()[name]
    explained = data is None or bool(kind.documents and kind.from_features)
    return explained and (has_layouts or name != "contextualpbm")


def _finite(value: float) -> float | None:
    """JSON has no infinity: a model that says "never" of what happened has no figure."""
    return value if abs(value) < float("inf") else None


@dataclass(frozen=True, repr=False)
class _Fits:
    rows: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        return {"models": self.rows}

    def __repr__(self) -> str:
        lines = [
            f"{'model':<16}{'log-likelihood':>15}{'perplexity':>12}{'given clicks':>14}{'iterations':>12}"
        ]
        for row in sorted(self.rows, key=lambda row: row["perplexity"] or float("inf")):
            figures = (row["log_likelihood"], row["perplexity"], row["conditional_perplexity"])
            written = ["-inf" if i == 0 else "inf" for i in range(3)]
            written = [
                f"{one:.4f}" if one is not None else no for one, no in zip(figures, written, strict=True)
            ]
            lines.append(
                f"{row['model']:<16}{written[0]:>15}{written[1]:>12}{written[2]:>14}{row['iterations']:>12}"
            )
        return "\n".join(lines)
