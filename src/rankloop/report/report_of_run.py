"""The page of a training run: how good, how it learned, what it looks at, what it does to a list."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.report._one_list import one_list
from rankloop.report.figure import Figure
from rankloop.report.importance import importance
from rankloop.report.learning_curve import learning_curve
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.page import Report

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["report_of_run"]

_LISTS = 200  # queries that features are shuffled on, where there are no splits to count


def report_of_run(
    folder: str | Path,
    data: "RankingDataset | None" = None,
    *,
    query: Any = None,
    title: str | None = None,
) -> Report:
    """What `rankloop train` left in a folder, on one page.

    `data` holds judged lists to look at; without it, those that the run was measured on are read again if
    they are still there and unchanged. `query` is the one whose list is drawn.
    """
    run = Path(folder)
    if not (run / "metrics.json").is_file():
        raise ValueError(f"{run} is not a run folder: it has no metrics.json; rankloop train --out makes one")
    figures = _json(run / "metrics.json")
    report = Report(title or f"Run {run.resolve().name}", "A ranker, how it was trained and how good it is.")
    report.add("Figures", metric_intervals(_intervals(figures)), _table(figures))
    if (run / "model.rank").is_file():
        _model(report, run, data, query)
    for name in ("parameters", "data", "environment"):
        path = run / f"{name}.json"
        if path.is_file():
            report.add(name.capitalize(), _flat(_json(path)), folded=True)
    return report


def _model(report: Report, run: Path, data: "RankingDataset | None", query: Any) -> None:
    from rankloop.rankers import load

    ranker = load(run / "model.rank")
    curves = list(_curves(ranker))
    if curves:
        report.add("How it learned", *curves)
    lists = _lists(run, ranker.n_features_in_) if data is None else data
    report.add("What it looks at", *_features(ranker, lists))
    if lists is not None:
        report.add("One list", *one_list(ranker, lists, query))


def _curves(ranker: Any) -> Iterator[Figure]:
    measured = str(getattr(ranker, "metric", "ndcg@10"))
    curve = getattr(ranker, "curve_", ())
    if len(curve):
        yield learning_curve(
            {"validation": curve}, x="trees", y=measured, best=ranker.n_trees_, title=f"{measured} by trees"
        )
    for name, values in getattr(ranker, "history_", {}).items():
        best = ranker.n_iter_ if name == measured else None
        yield learning_curve({name: values}, x="epoch", y=name, best=best, title=f"{name} by epoch")


def _features(ranker: Any, lists: "RankingDataset | None") -> Iterator[Figure | str]:
    """By split and by gain where trees were grown, by shuffling otherwise."""
    import rankloop.rankers as family

    try:
        counted = {by: family.importance(ranker, by=by) for by in ("split", "gain")}
    except ValueError:  # no trees, or an engine that keeps no count
        if lists is None:
            yield "Without judged lists nothing can be said about the features of this ranker."
            return
        some = lists.select(range(min(lists.n_queries, _LISTS)))
        found = family.importance(ranker, some, repeats=2)
        yield importance(found, note=f"What {found.by} loses when a feature is shuffled within each query.")
        return
    yield importance(counted, note="How often trees split on a feature, and what the splits gained.")


def _lists(run: Path, n_features: int) -> "RankingDataset | None":
    """The lists that the run was measured on, if they are still there and the same."""
    if not (run / "run.toml").is_file() or not (run / "data.json").is_file():
        return None
    from rankloop.data.opening import form_of, open_dataset

    paths = tomllib.loads((run / "run.toml").read_text(encoding="utf-8"))
    facts = _json(run / "data.json")
    for part in ("test", "valid", "data"):
        path = Path(str(paths.get(part, "")))
        if part in facts and path.exists():
            wide = {"n_features": n_features} if form_of(path) == "svmlight" else {}
            found = open_dataset(path, **wide)
            if found.fingerprint() == facts[part]["fingerprint"]:
                return found
    return None


def _intervals(figures: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        part: {name: (one["mean"], one["low"], one["high"]) for name, one in found["metrics"].items()}
        for part, found in figures.items()
    }


def _table(figures: Mapping[str, Any]) -> Any:
    from rankloop.metrics._table import Table

    rows = [
        (
            part,
            name,
            _text(one["mean"]),
            f"{_text(one['low'])} to {_text(one['high'])}",
            f"{one['queries']:,}",
        )
        for part, found in figures.items()
        for name, one in found["metrics"].items()
    ]
    return Table(("measured on", "metric", "mean", "95 % interval", "queries"), rows, left=2)


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Facts within facts, side by side."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{key} ")
        else:
            found[before + key] = " ".join(map(str, value)) if isinstance(value, list) else value
    return found


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
