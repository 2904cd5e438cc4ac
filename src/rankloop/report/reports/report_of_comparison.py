"""The page of a comparison: which ranking is better, with intervals, and on which queries."""

from typing import TYPE_CHECKING

from rankloop.report.drawing.scale import p_text
from rankloop.report.gains_and_losses import gains_and_losses
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.report import Report

if TYPE_CHECKING:
    from rankloop.metrics import Comparison

__all__ = ["report_of_comparison"]

_DRAWN = 6  # figures by query; if there were more, only those of the first metric


def report_of_comparison(found: "Comparison", *, title: str | None = None) -> Report:
    """A result of `rankloop.compare` on one page.

    >>> import rankloop as rl
    >>> judged = rl.synthetic(n_queries=20, docs_per_query=5, n_features=2, seed=0)
    >>> found = rl.compare({"one": judged.X[:, 0], "other": judged.X[:, 1]}, judged, ["ndcg@5", "map"])
    >>> report_of_comparison(found)
    Report('other against one', 3 sections)
    """
    rivals = ", ".join(found.rivals)
    report = Report(title or f"{rivals} against {found.baseline}", "Which ranking is better?")
    differences = {
        system: {
            metric: (verdict.difference, verdict.low, verdict.high)
            for metric in found.names
            for verdict in (found.verdicts[metric][system],)
        }
        for system in found.rivals
    }
    report.add("The verdict", *_verdicts(found), found)
    report.add(
        "Metrics",
        metric_intervals(found.systems, note=_direction(found)),
        metric_intervals(
            differences,
            signed=True,
            title=f"Differences to {found.baseline}",
            note="On the same queries, with 95 % intervals: one that excludes 0 shows a difference.",
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
    lower_is_better = metric in found.systems[found.baseline].lower_is_better
    sentences = []
    for system in found.rivals:
        verdict = found.verdicts[metric][system]
        better = "better" if (verdict.difference < 0) is lower_is_better else "worse"
        significant = verdict.p_holm <= 1 - found.confidence
        how = f"is {better} than" if significant else "is not shown to differ from"
        sentences.append(
            f"By {metric}, {system} {how} {found.baseline}: {verdict.difference:+.4f} "
            f"(between {verdict.low:+.4f} and {verdict.high:+.4f}, {p_text(verdict.p_holm)}; "
            f"{verdict.wins:,} queries gain, {verdict.losses:,} lose, {verdict.ties:,} stay)."
        )
    return sentences


def _direction(found: "Comparison") -> str:
    lower = sorted(found.systems[found.baseline].lower_is_better & set(found.names))
    side = f"; of {', '.join(lower)} lower is better" if lower else "; further right is better"
    return f"Means over queries with {found.confidence * 100:g} % intervals{side}."
