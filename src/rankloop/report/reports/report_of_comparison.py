"""The page of a comparison: which ranking is better, how surely, and on which queries."""

from typing import TYPE_CHECKING

from rankloop.report.drawing.scale import p_text
from rankloop.report.gains_and_losses import gains_and_losses
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.report import Report

if TYPE_CHECKING:
    from rankloop.metrics import Comparison

__all__ = ["report_of_comparison"]

_DRAWN = 6  # pictures of queries: beyond these, the first metric only


def report_of_comparison(found: "Comparison", *, title: str | None = None) -> Report:
    """What `rankloop.compare` found, on one page.

    >>> import rankloop as rl
    >>> judged = rl.synthetic(n_queries=20, docs_per_query=5, n_features=2, seed=0)
    >>> found = rl.compare({"one": judged.X[:, 0], "other": judged.X[:, 1]}, judged, ["ndcg@5", "map"])
    >>> report_of_comparison(found)
    Report('other against one', 3 sections)
    """
    rivals = ", ".join(found.rivals)
    report = Report(title or f"{rivals} against {found.baseline}", "Is this ranking better than that one?")
    differences = {
        system: {
            metric: (said.difference, said.low, said.high)
            for metric in found.names
            for said in (found.verdicts[metric][system],)
        }
        for system in found.rivals
    }
    report.add("The verdict", *_verdicts(found), found)
    report.add(
        "Metrics",
        metric_intervals(found.systems, note=_which_way(found)),
        metric_intervals(
            differences,
            signed=True,
            title=f"Differences to {found.baseline}",
            note="On the same queries, with 95 % intervals: one that leaves out 0 shows a difference.",
        ),
    )
    metrics = found.names if len(found.names) * len(found.rivals) <= _DRAWN else found.names[:1]
    drawn = [
        gains_and_losses(found, system=system, metric=metric) for system in found.rivals for metric in metrics
    ]
    return report.add("Query by query", *drawn)


def _verdicts(found: "Comparison") -> list[str]:
    """A sentence for each system, by the first metric."""
    metric = found.names[0]
    fall = metric in found.systems[found.baseline].lower_is_better
    said = []
    for system in found.rivals:
        verdict = found.verdicts[metric][system]
        better = "better" if (verdict.difference < 0) is fall else "worse"
        sure = verdict.p_holm <= 1 - found.confidence
        how = f"is {better} than" if sure else "is not shown to differ from"
        said.append(
            f"By {metric}, {system} {how} {found.baseline}: {verdict.difference:+.4f} "
            f"(between {verdict.low:+.4f} and {verdict.high:+.4f}, {p_text(verdict.p_holm)}; "
            f"{verdict.wins:,} queries gain, {verdict.losses:,} lose, {verdict.ties:,} stay)."
        )
    return said


def _which_way(found: "Comparison") -> str:
    lower = sorted(found.systems[found.baseline].lower_is_better & set(found.names))
    less = f"; of {', '.join(lower)} less is better" if lower else "; further right is better"
    return f"Means over queries with their {found.confidence * 100:g} % intervals{less}."
