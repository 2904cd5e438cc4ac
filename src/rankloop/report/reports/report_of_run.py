"""The page of a training run: metrics, learning curves, features, one list."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop._json import read_object
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.report import Report
from rankloop.report.reports.report_of_ranker import add_ranker

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["report_of_run"]


def report_of_run(
    folder: str | Path, data: "RankingDataset | None" = None, *, query: Any = None, title: str | None = None
) -> Report:
    """A folder of `rankloop train` on one page.

    `data` holds judged lists; by default those that the run was evaluated on, if they are still there and
    unchanged. `query` is the one whose list is drawn.
    """
    run = Path(folder)
    if not (run / "metrics.json").is_file():
        raise ValueError(f"{run} is not a run folder: it has no metrics.json; rankloop train --out makes one")
    figures = read_object(run / "metrics.json", "train again")
    report = Report(title or f"Run {run.resolve().name}", "A ranker, its training and its metrics.")
    try:
        report.add("Metrics", metric_intervals(_intervals(figures)), _table(figures))
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ValueError(f"{run / 'metrics.json'} is not what rankloop train wrote ({error!r})") from None
    if (run / "model.rank").is_file():
        from rankloop.rankers import load

        ranker = load(run / "model.rank")
        add_ranker(report, ranker, _lists(run, ranker.n_features_in_) if data is None else data, query)
    for name in ("parameters", "data", "environment"):
        path = run / f"{name}.json"
        if path.is_file():
            report.add(name.capitalize(), _flat(read_object(path, "train again")), folded=True)
    return report


def _lists(run: Path, n_features: int) -> "RankingDataset | None":
    """The lists that the run was evaluated on, if they are still there and unchanged."""
    if not (run / "run.toml").is_file() or not (run / "data.json").is_file():
        return None
    from rankloop.data import kind_of, open_dataset

    paths = tomllib.loads((run / "run.toml").read_text(encoding="utf-8"))
    facts = read_object(run / "data.json", "train again")
    for part in ("test", "valid", "data"):
        path = Path(str(paths.get(part, "")))
        if part in facts and path.exists():
            wide = {"n_features": n_features} if kind_of(path) == "svmlight" else {}
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
    from rankloop._table import Table

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
    """Nested facts in one level, by joined names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{key} ")
        else:
            found[before + key] = " ".join(map(str, value)) if isinstance(value, list) else value
    return found
