"""The page of a ranker learned from clicks: what was chosen, and how it would have done."""

from typing import TYPE_CHECKING, Any

from rankloop.report.ctr_by_position import ctr_by_position
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.position_curve import position_curve
from rankloop.report.report import Report
from rankloop.report.reports.features_section import features_section

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.unbiased import Learned

__all__ = ["report_of_learning"]


def report_of_learning(
    learned: "Learned", log: "ClickLog | None" = None, *, title: str = "Learned from clicks"
) -> Report:
    """A result of `rankloop.unbiased.learn` on one page; with the log, its clicks by position too."""
    report = Report(title, f"The ranker is {learned.chosen}; the curve is by {learned.curve_by}.")
    report.add("The verdict", *_verdict(learned), *(f"Warning: {one}." for one in learned.warnings))
    curve = position_curve(
        {learned.curve_by: learned.curve}, note="Relative to the first rank; the correction of the clicks."
    )
    report.add("Position bias", curve, *(() if log is None else (ctr_by_position(log),)))
    if learned.held_out:
        report.add(
            "Candidates",
            "Log loss of each candidate on the clicks of held-out queries; the lowest is chosen.",
            _candidates(learned),
        )
    return report.add("Features", *features_section(learned.ranker))


def _verdict(learned: "Learned") -> list[Any]:
    if learned.selection is None:
        return ["No queries were held out, so there is no estimate for the new order."]
    found = learned.selection
    metric = next(iter(found.estimates.values())).metric
    behind = found.behind["shown" if found.best == "new" else "new"]
    significant = behind[2] < 0
    better = (
        "the new order is better than the one shown" if found.best == "new" else "the order shown is better"
    )
    conclusion = better if significant else "neither the new order nor the one shown is clearly better"
    return [
        f"On held-out queries {conclusion}: the other is {-behind[0]:.4f} behind by {metric} "
        f"(between {-behind[2]:+.4f} and {-behind[1]:+.4f}), by the doubly robust estimate.",
        metric_intervals(
            {name: {metric: (one.value, one.low, one.high)} for name, one in found.estimates.items()},
            title=f"{metric} on held-out queries, from clicks alone",
            note="Estimates with 95 % intervals; labels are not used.",
        ),
    ]


def _candidates(learned: "Learned") -> Any:
    from rankloop._table import Table

    best = min(learned.held_out.values())
    rows = [(name, f"{value:.5f}") for name, value in learned.held_out.items()]
    strong = frozenset((row, 1) for row, value in enumerate(learned.held_out.values()) if value == best)
    return Table(("candidate", "negative log-likelihood per impression"), rows, strong=strong)
