"""The page of what was learned from clicks: what was chosen and why, and whether to trust it."""

from typing import TYPE_CHECKING, Any

from rankloop.report.ctr_by_position import ctr_by_position
from rankloop.report.metric_intervals import metric_intervals
from rankloop.report.position_curve import position_curve
from rankloop.report.report import Report
from rankloop.report.reports.looked_at import looked_at

if TYPE_CHECKING:
    from rankloop.clicks import ClickLog
    from rankloop.unbiased import Learned

__all__ = ["report_of_learning"]


def report_of_learning(
    learned: "Learned", log: "ClickLog | None" = None, *, title: str = "Learned from clicks"
) -> Report:
    """What `rankloop.unbiased.learn` found, on one page; with the log, its clicks by position too."""
    report = Report(title, f"The ranker is {learned.chosen}; the curve is by {learned.curve_by}.")
    report.add("The verdict", *_verdict(learned), *(f"Beware: {one}." for one in learned.warnings))
    curve = position_curve(
        {learned.curve_by: learned.curve},
        note="Relative to the first rank; what the clicks were corrected by.",
    )
    report.add("The bias of position", curve, *(() if log is None else (ctr_by_position(log),)))
    if learned.held_out:
        report.add(
            "What it was chosen from",
            "How surprised each candidate is by the clicks on queries that were held out; the least wins.",
            _candidates(learned),
        )
    return report.add("What it looks at", *looked_at(learned.ranker))


def _verdict(learned: "Learned") -> list[Any]:
    if learned.selection is None:
        return ["Nothing was held out, so nothing can be said about how the new order would do."]
    found = learned.selection
    metric = next(iter(found.estimates.values())).metric
    behind = found.behind["shown" if found.best == "new" else "new"]
    sure = behind[2] < 0
    said = (
        "the new order is better than the one shown" if found.best == "new" else "the order shown is better"
    )
    words = said if sure else "neither the new order nor the one shown is clearly better"
    return [
        f"On held-out queries {words}: the other is {-behind[0]:.4f} behind by {metric} "
        f"(between {-behind[2]:+.4f} and {-behind[1]:+.4f}), by the doubly robust estimate.",
        metric_intervals(
            {name: {metric: (one.value, one.low, one.high)} for name, one in found.estimates.items()},
            title=f"{metric} on held-out queries, from clicks alone",
            note="Estimates with 95 % intervals; no label was looked at.",
        ),
    ]


def _candidates(learned: "Learned") -> Any:
    from rankloop._table import Table

    best = min(learned.held_out.values())
    rows = [(name, f"{value:.5f}") for name, value in learned.held_out.items()]
    strong = frozenset((row, 1) for row, value in enumerate(learned.held_out.values()) if value == best)
    return Table(("candidate", "nats a showing"), rows, strong=strong)
