"""The report of a learning run: what was read, what was learned, and why it serves or does not."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._table import Table
from rankloop.report import Report, ctr_by_position, importance_picture, metric_intervals, position_curve

if TYPE_CHECKING:
    from rankloop.metrics import Comparison
    from rankloop.serve.learning.candidates import Trained
    from rankloop.serve.learning.record import LearningRun
    from rankloop.serve.learning.window import Window

__all__ = ["report_of_run"]

_LEFT_OUT = {
    "bot": "pages of crawlers, left out",
    "searches": "pages of people who search too often, left out",
    "clicks": "pages with too many clicks at once, left out",
    "viewport": "pages clicked without coming into view, left out",
    "time": "events before their page or a day after it, left out",
    "person": "pages of people beyond what one may teach, left out",
    "origin": "pages of address ranges beyond their share of a day, left out",
    "query": "pages of address ranges beyond their share of a query, left out",
    "features": "pages described by other features, left out",
}


def report_of_run(
    run: "LearningRun",
    record: Mapping[str, Any],
    window: "Window",
    made: "Trained",
    judged: "Comparison | None",
) -> Report:
    """One page with the decision on the new ranking and everything behind it."""
    best = record["best"]
    gain = record["candidates"][best]["gain"]
    report = Report(
        f"Learning run {run.id}", f"Production is {record['production']}; the candidate is {best}."
    )
    report.add(
        "The verdict",
        f"Against production, {best} gains {gain[0]:+.4f} (lower bound {gain[1]:+.4f}): {record['message']}.",
        *(f"Warning: {one}." for one in record["warnings"]),
    )
    report.add("Estimated value of each ranking", *_estimates(record), _table(record))
    if judged is not None:
        report.add("By judgments", judged)
    curves = {
        name: (one["values"], one["low"], one["high"]) if one["method"] != "given" else one["values"]
        for name, one in record["curves"].items()
    }
    report.add("Examination by rank", position_curve(curves), ctr_by_position(window.log))
    report.add("Features of the candidate", *_remembered(made, best), *_features(made, best))
    return report.add("Clicks that were read", _facts(record["window"], record["dropped"]))


def _facts(window: Mapping[str, Any], dropped: Mapping[str, int]) -> dict[str, Any]:
    """The window with readable times, and how much each rule left out."""
    facts = {name: value for name, value in window.items() if value is not None}
    for name in ("since", "until"):
        if name in facts:
            facts[name] = f"{datetime.fromtimestamp(facts[name], UTC):%Y-%m-%d %H:%M} UTC"
    return facts | {_LEFT_OUT.get(rule, f"left out: {rule}"): count for rule, count in dropped.items()}


def _estimates(record: Mapping[str, Any]) -> list[Any]:
    found = record["candidates"]
    values = {name: {"from clicks": tuple(one["value"])} for name, one in found.items()}
    gains = {name: {"gain": tuple(one["gain"])} for name, one in found.items() if name != "production"}
    return [
        metric_intervals(
            values,
            title="Estimated from clicks, by the doubly robust estimate",
            note="Every query is evaluated with a ranker that was learned without it.",
        ),
        metric_intervals(
            gains, signed=True, title="Gain over production", note="One-sided bounds of the gate."
        ),
    ]


def _table(record: Mapping[str, Any]) -> Table:
    rows = [
        (name, f"{one['value'][0]:.4f}", *(f"{value:+.4f}" for value in one["gain"]), f"{one['clicks']:,.0f}")
        for name, one in record["candidates"].items()
    ]
    return Table(("ranking", "value", "gain", "lower bound", "upper bound", "effective clicks"), rows)


def _remembered(made: "Trained", best: str) -> list[Any]:
    """What is remembered of clicks, on top of which ranker."""
    about = made.candidates[best].parameters
    if made.candidates[best].shift is None:
        return []
    what = "the ranker that serves" if about["on top of"] == "production" else about["on top of"]
    return [
        f"Clicks on {about['queries']:,} queries are remembered on top of {what}. What the ranker says of a "
        f"document is worth {about['strength']:g} views of it, which predicts the clicks of others best."
    ]


def _features(made: "Trained", best: str) -> list[Any]:
    from rankloop.rankers import importance as counted

    if made.candidates[best].under == "production":
        return []
    ranker = made.candidates[best].ranker
    if hasattr(ranker, "coef_"):
        weights = (ranker.feature_names_in_.tolist(), np.abs(ranker.coef_))
        return [
            importance_picture({"weight": weights}, note="Sizes of the weights on standardised features.")
        ]
    found = {by: counted(ranker, by=by) for by in ("split", "gain")}
    return [importance_picture(found, note="How often trees split on a feature, and what the splits gained.")]
