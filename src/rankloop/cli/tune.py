"""`rankloop tune`: the best parameters of a ranker over whole-query folds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, RankerName, ReportFile, Seed, check_report
from rankloop.cli.options.cluster import Resumable
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import Reading

__all__ = ["tune"]


@grouped
def tune(
    data: Annotated[
        str | None,
        typer.Argument(help="A data set: LETOR/SVMLight text, Parquet, CSV, JSONL, saved or shards."),
    ] = None,
    ranker: RankerName = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A fixed parameter, key=value; repeatable.")
    ] = None,
    space: Annotated[
        list[str] | None,
        typer.Option(
            help="A range to search: C=0.01:10:log, trees=100:500, loss=ranknet,listnet; repeatable."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with the tables ranker and space.")] = None,
    metric: Annotated[str | None, typer.Option("--metric", "-m", help="The metric to optimise.")] = None,
    folds: Annotated[int, typer.Option(help="Folds of whole queries.")] = 3,
    trials: Annotated[int, typer.Option(help="How many whole cross-validations it may cost.")] = 50,
    timeout: Annotated[float | None, typer.Option(help="Stop after this many seconds.")] = None,
    hold_out: Annotated[
        float, typer.Option(help="Share of the training queries held out for early stopping.")
    ] = 0.0,
    seed: Seed = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for the study, its plot and best.toml.")
    ] = None,
    report: ReportFile = None,
    json: Json = False,
    *,
    work: Resumable,
    reading: Reading,
) -> None:
    """Search for the best parameters over folds; best.toml is for rankloop train --config.

    rankloop tune train.txt --ranker ranksvm --space C=0.001:10:log --out runs/tuned
    """
    import json as writer

    from rankloop._atomic import replacing_folder
    from rankloop.cli.options.outputs import show
    from rankloop.cli.options.runs import as_toml, chosen_ranker, read_config
    from rankloop.rankers import tune as tune_ranker
    from rankloop.report import Report, tuning_picture

    check_report(report)
    work.check(reading)
    given = read_config(config)
    source = data or given.get("data")
    if source is None:
        raise ValueError("no data: rankloop tune DATA, or data = '...' in the configuration")
    if out is not None and out.exists():
        raise ValueError(f"{out} exists; choose another --out")
    model, settings = chosen_ranker(given, ranker, set_ or [])
    ranges = {**given.get("space", {}), **dict(_range(text) for text in space or [])}
    if not ranges:
        raise ValueError("tune needs a space: the ranges to try, as in --space C=0.01:10:log")
    chosen = metric or given.get("metrics", ["ndcg@10"])[0]
    options: dict[str, Any] = {
        "folds": folds,
        "trials": trials,
        "timeout": timeout,
        "hold_out": hold_out,
        "seed": seed,
    }
    if work.backend is not None:
        from rankloop.cli.options.cluster import tune_on

        found = tune_on(work, model, ranges, source, chosen, **options)
    else:
        found = tune_ranker(model, ranges, reading.dataset(source), chosen, **options)
    if out is not None:
        best = {**settings, **found.best_params_}
        with replacing_folder(out) as folder:
            text = as_toml({"data": source, "metrics": [chosen], "ranker": best})
            (folder / "best.toml").write_text(text, encoding="utf-8")
            (folder / "study.json").write_text(
                writer.dumps(found.to_dict(), indent=2) + "\n", encoding="utf-8"
            )
            tuning_picture(found).save(folder / "study.svg")
    if report is not None:
        page = Report(f"Tuning {settings['name']}", f"{chosen} on {source}")
        page.add("Best parameters", found.best_params_).add("Trials", tuning_picture(found), found).save(
            report
        )
    show(found, as_json=json, data=source, ranker=settings["name"])


def _range(text: str) -> tuple[str, Any]:
    """`key=low:high`, `key=low:high:log` or `key=a,b,c`.

    >>> _range("C=0.01:10:log"), _range("loss=hinge,squared_hinge"), _range("trees=100:500")
    (('C', (0.01, 10, 'log')), ('loss', ['hinge', 'squared_hinge']), ('trees', (100, 500)))
    """
    from rankloop.cli.options.runs import setting

    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not key or not value:
        raise ValueError(f"a range is written key=low:high, key=low:high:log or key=a,b,c, got {text!r}")
    if ":" in value:
        return key, tuple(setting(f"{key}={part}")[1] for part in value.split(":"))
    return key, [setting(f"{key}={part}")[1] for part in value.split(",")]
