"""`rankloop train`: fit a ranker and keep everything about it in one folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.options.cluster import Backend, Checkpoint, Workers, check_on
from rankloop.cli.options.reports import ReportFile, check_report

if TYPE_CHECKING:
    from rankloop.data import RankingDataset
    from rankloop.rankers import Ranker

__all__ = ["train"]


def train(
    data: Annotated[
        Path | None, typer.Argument(help="Training data: LETOR/SVMLight text, Parquet or a saved folder.")
    ] = None,
    ranker: Annotated[
        str | None, typer.Option("--ranker", help="linear, lambdamart, ranksvm, pointwise, neural, ...")
    ] = None,
    loss: Annotated[str | None, typer.Option("--loss", help="The ranker's loss, such as lambdarank.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the ranker, key=value; repeat it.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A TOML file; what is given here wins over it.")
    ] = None,
    valid: Annotated[
        Path | None, typer.Option("--valid", help="Validation data, for early stopping and figures.")
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", help="Test data, for figures only.")] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="A metric to report; repeat it.")
    ] = None,
    index: Annotated[
        Path | None, typer.Option("--index", help="Train a search over this index instead.")
    ] = None,
    judgments: Annotated[Path | None, typer.Option("--judgments", help="TREC qrels, with --index.")] = None,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="Lines of id, tab, text, with --index.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The run folder to write.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run folder.")] = False,
    report: ReportFile = None,
    backend: Backend = None,
    workers: Workers = None,
    checkpoint: Checkpoint = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train a ranker. The run folder holds the model, figures, parameters, data and environment.

    rankloop train train.txt --valid vali.txt --ranker linear --loss ranknet --out runs/linear

    rankloop train --config runs/linear/run.toml --set l2=0.1 --out runs/again

    rankloop train --index shop.index --queries queries.tsv --judgments qrels.txt --out runs/shop

    rankloop train train.shards --valid vali.txt --backend ray --workers 8 --out runs/large
    """
    import json as writer
    import time

    from rankloop.cli.options.runs import chosen_ranker, read_config, read_data
    from rankloop.metrics import evaluate
    from rankloop.metrics import metric as known_metric

    check_on(backend, workers=workers, checkpoint=checkpoint)
    check_report(report)
    given = read_config(config)
    flags = {"data": data, "valid": valid, "test": test, "out": out}
    paths = {part: flag or (Path(given[part]) if part in given else None) for part, flag in flags.items()}
    source = paths["data"] or index
    if source is None:
        raise ValueError(
            "what shall it learn from? rankloop train DATA, or data = '...' in the configuration"
        )
    target = paths.pop("out") or Path("runs") / source.stem
    if target.exists() and not overwrite:
        raise ValueError(f"{target} exists; choose another --out, or replace it with --overwrite")
    changed = set_ or []
    model, settings = chosen_ranker(given, ranker, changed if loss is None else [f"loss={loss}", *changed])
    metrics = metric or given.get("metrics") or ["ndcg@10"]
    for one in metrics:
        known_metric(one)  # a wrong name is told before the training, not after it
    if index is not None:
        from rankloop.cli.options.train_search import train_search

        train_search(index, judgments, queries, model, target, metrics, json)
        if report is not None:
            _write_report(target, report)
        return

    sets: dict[str, Any]
    if backend is not None:
        from rankloop.cli.options.cluster import train_on

        model, seconds, judged, sets = train_on(backend, workers, model, paths, metrics, report, checkpoint)
    else:
        sets = {"data": read_data(source)}
        for part in ("valid", "test"):
            if (path := paths[part]) is not None:
                sets[part] = read_data(path, sets["data"].n_features)
        started = time.perf_counter()
        model.fit(sets["data"], sets.get("valid"))
        seconds = round(time.perf_counter() - started, 3)
        judged = {part: evaluate(model, judged, metrics) for part, judged in sets.items() if part != "data"}
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
    for part, found in judged.items():
        typer.echo(f"{part}\n{found!r}")
    typer.echo(f"trained in {seconds:.1f} s; written to {target}")


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
