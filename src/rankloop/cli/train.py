"""`rankloop train`: fit a ranker and write everything about it to one folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.arguments import Json, Metrics, RankerName, ReportFile, check_report
from rankloop.cli.options.cluster import Resumable
from rankloop.cli.options.group import grouped
from rankloop.cli.options.reading import Reading

if TYPE_CHECKING:
    from rankloop.data import RankingDataset
    from rankloop.rankers import Ranker

__all__ = ["train"]


@grouped
def train(
    source: Annotated[
        str | None,
        typer.Argument(
            help="A data set (LETOR/SVMLight text, Parquet, CSV, JSONL, saved folder, shards); or an index "
            "or an engine, with --queries and --qrels."
        ),
    ] = None,
    ranker: RankerName = None,
    loss: Annotated[str | None, typer.Option(help="The ranker's loss, such as lambdarank.")] = None,
    minutes: Annotated[
        float | None, typer.Option(help="For --ranker auto: how long it may take.", min=0.01)
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the ranker, key=value; repeatable.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file; options given here override it.")] = None,
    valid: Annotated[
        str | None, typer.Option(help="Validation data, for early stopping and metrics.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Test data, for metrics only.")] = None,
    metric: Metrics = None,
    queries: Annotated[
        Path | None, typer.Option(help="For an index or engine: a file of id, tab, query.")
    ] = None,
    qrels: Annotated[Path | None, typer.Option(help="For an index or engine: TREC judgments.")] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="For an index or engine: a file of feature names, one per line; by default all."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The run folder; by default runs/ and the source's name."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run folder.")] = False,
    report: ReportFile = None,
    json: Json = False,
    *,
    work: Resumable,
    reading: Reading,
) -> None:
    """Train a ranker. The run folder holds the model, metrics, parameters, data and environment.

    rankloop train train.txt --valid vali.txt --ranker linear --loss ranknet --out runs/linear

    rankloop train --config runs/linear/run.toml --set l2=0.1 --out runs/again

    rankloop train train.txt --valid vali.txt --ranker auto --minutes 10 --out runs/auto

    rankloop train shop.index --queries queries.tsv --qrels qrels.txt --out runs/shop

    rankloop train opensearch://localhost:9200/shop --queries queries.tsv --qrels qrels.txt --out runs/shop

    rankloop train train.shards --valid vali.txt --backend ray --workers 8 --out runs/large
    """
    import json as writer
    import time

    from rankloop.cli.options.runs import chosen_ranker, read_config
    from rankloop.cli.options.sources import is_searched
    from rankloop.metrics import evaluate
    from rankloop.metrics import metric as known_metric

    work.check(reading)
    check_report(report)
    given = read_config(config)
    flags = {"data": source, "valid": valid, "test": test}
    paths: dict[str, str | None] = {part: flag or given.get(part) for part, flag in flags.items()}
    data = paths["data"]
    if data is None:
        raise ValueError("no SOURCE: rankloop train SOURCE, or data = '...' in the configuration")
    target = out or Path(given["out"] if "out" in given else f"runs/{_name(data)}")
    if target.exists() and not overwrite:
        raise ValueError(f"{target} exists; choose another --out, or replace it with --overwrite")
    changed = [*([] if loss is None else [f"loss={loss}"]), *(set_ or [])]
    model, settings = chosen_ranker(given, ranker, changed)
    if minutes is not None:
        if not hasattr(model, "minutes"):
            raise ValueError(
                f"--minutes is for --ranker auto, and this is {type(model).__name__}; add --ranker auto, or "
                "leave --minutes out"
            )
        model, settings = chosen_ranker(given, ranker, [*changed, f"minutes={minutes}"])
    metrics = metric or given.get("metrics") or ["ndcg@10"]
    for one in metrics:
        known_metric(one)  # refuse a wrong name before the training, not after it
    if is_searched(data):
        from rankloop.cli.options.train_search import train_search

        train_search(data, qrels, queries, features, model, target, metrics, json)
        if report is not None:
            _write_report(target, report)
        return
    if (queries, qrels, features) != (None, None, None):
        raise ValueError(
            f"--queries, --qrels and --features are for training on an index or engine, and {data} is neither"
        )

    sets: dict[str, Any]
    if work.backend is not None:
        from rankloop.cli.options.cluster import train_on

        model, seconds, judged, sets = train_on(work, model, paths, metrics, report)
    else:
        sets = {"data": reading.dataset(data)}
        for part in ("valid", "test"):
            if (path := paths[part]) is not None:
                sets[part] = reading.dataset(path, like=sets["data"])
        started = time.perf_counter()
        model.fit(sets["data"], sets.get("valid"))
        seconds = round(time.perf_counter() - started, 3)
        unseen = getattr(
            model, "valid_scores_", None
        )  # of a ranker that was fitted on the validation set too
        judged = {
            part: evaluate(unseen if part == "valid" and unseen is not None else model, judged, metrics)
            for part, judged in sets.items()
            if part != "data"
        }
        judged = judged or {"train": evaluate(model, sets["data"], metrics)}
    for part, found in judged.items():
        model.metrics_[part] = {key: value for key, value in found.mean.items() if value == value}
    figures = {part: found.to_dict() for part, found in judged.items()}
    run = {**{part: str(path) for part, path in paths.items() if path is not None}, "metrics": metrics}
    _write(target, model, {**run, "ranker": settings}, figures, sets, seconds)
    if report is not None:
        _write_report(target, report, sets.get("test") or sets.get("valid") or sets["data"])
    if json:
        typer.echo(writer.dumps({"run": str(target), "seconds": seconds, "metrics": figures}, indent=2))
        return
    if hasattr(model, "leaderboard_"):
        typer.echo(model.leaderboard_.text())
    for part, found in judged.items():
        typer.echo(f"{part}\n{found!r}")
    typer.echo(f"trained in {seconds:.1f} s; written to {target}")


def _name(source: str) -> str:
    """What a run is called after: a file or folder without its ending, the name of an engine's index."""
    return Path(source.partition("?")[0]).stem if "://" in source else Path(source).stem


def _write(
    target: Path,
    model: "Ranker",
    run: dict[str, Any],
    figures: dict[str, Any],
    sets: dict[str, Any],
    seconds: float,
) -> None:
    """The run folder, whole or not at all."""
    import json

    from rankloop._atomic import replacing_folder
    from rankloop.cli.options.runs import MODEL, as_toml, data_facts

    contents = {
        "metrics.json": figures,
        "parameters.json": {key: _plain(value) for key, value in model.get_params().items()},
        "data.json": {part: data_facts(run[part], made) for part, made in sets.items()},
        "environment.json": {**_environment(model._libraries), "seconds": seconds},
    }
    with replacing_folder(target) as folder:
        model.save(folder / MODEL)
        (folder / "run.toml").write_text(as_toml(run), encoding="utf-8")
        for name, content in contents.items():
            text = json.dumps(content, indent=2, allow_nan=False)
            (folder / name).write_text(text + "\n", encoding="utf-8")


def _write_report(target: Path, path: Path, lists: "RankingDataset | None" = None) -> None:
    from rankloop.report import report_of_run

    report_of_run(target, lists).save(path)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _environment(libraries: tuple[str, ...]) -> dict[str, Any]:
    import os
    import platform
    import sys
    from datetime import UTC, datetime

    from rankloop.rankers.saving.load import versions

    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "versions": versions((*libraries, "scipy", "numba")),
    }
