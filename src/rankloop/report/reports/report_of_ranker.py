"""The page of a ranker: metrics, learning curves, features, one list."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rankloop.report.figure import Figure
from rankloop.report.learning_picture import learning_picture
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.report import Report
from rankloop.report.reports.features_section import features_section
from rankloop.report.reports.list_section import list_section

if TYPE_CHECKING:
    from rankloop.data import RankingDataset

__all__ = ["add_ranker", "report_of_ranker"]


def report_of_ranker(
    ranker: Any,
    data: "RankingDataset | None" = None,
    *,
    metrics: Sequence[str] = ("ndcg@10", "map", "mrr"),
    query: Any = None,
    title: str | None = None,
) -> Report:
    """A fitted ranker on one page; with judged lists, its metrics on them and one list as pictures.

    >>> import rankloop as rl
    >>> data = rl.synthetic(n_queries=20, docs_per_query=5, n_features=3, seed=0)
    >>> report_of_ranker(rl.RankSVM().fit(data), data)
    Report('RankSVM', 4 sections)
    """
    kind = type(ranker).__name__
    report = Report(title or kind, f"A {kind} of {ranker.n_features_in_:,} features.")
    if data is not None:
        from rankloop.metrics import evaluate

        found = evaluate(ranker, data, list(metrics))
        report.add("Metrics", metric_intervals(found), found)
    add_ranker(report, ranker, data, query)
    parameters = {name: str(value) for name, value in ranker.get_params(deep=False).items()}
    return report.add("Parameters", parameters, folded=True)


def add_ranker(report: Report, ranker: Any, lists: "RankingDataset | None", query: Any = None) -> None:
    """The sections that every ranker has."""
    curves = list(_curves(ranker))
    if curves:
        report.add("Learning curves", *curves)
    report.add("Features", *features_section(ranker, lists))
    if lists is not None:
        report.add("One list", *list_section(ranker, lists, query))


def _curves(ranker: Any) -> Iterator[Figure]:
    measured = str(getattr(ranker, "metric", "ndcg@10"))
    curve = getattr(ranker, "curve_", ())
    if len(curve):
        yield learning_picture(
            {"validation": curve}, x="trees", y=measured, best=ranker.n_trees_, title=f"{measured} by trees"
        )
    for name, values in getattr(ranker, "history_", {}).items():
        best = ranker.n_iter_ if name == measured else None
        yield learning_picture({name: values}, x="epoch", y=name, best=best, title=f"{name} by epoch")
