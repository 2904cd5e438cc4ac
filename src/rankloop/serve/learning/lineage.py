"""Where a learned version comes from, as the registry keeps it."""

from typing import TYPE_CHECKING, Any

from rankloop.propensity import Propensity

if TYPE_CHECKING:
    from rankloop.metrics import Comparison
    from rankloop.serve.learning.candidates import Gain, Trained
    from rankloop.serve.learning.window import Curves

__all__ = ["judged_difference", "lineage_of", "saved_curves"]


def saved_curves(curves: "Curves", made: "Trained") -> dict[str, Any]:
    if curves.by_layout:
        return {name: one.to_dict() for name, one in curves.by_layout.items()}
    return {"learned": Propensity.given(made.learned.curve).to_dict()}


def judged_difference(comparison: "Comparison", metric: str) -> dict[str, Any]:
    verdict = comparison.verdicts[metric]["candidate"]
    return {"metric": metric, "difference": [verdict.difference, verdict.low, verdict.high]}


def lineage_of(
    name: str,
    made: "Trained",
    found: "dict[str, Gain]",
    judged: "Comparison | None",
    record: dict[str, Any],
    report: str,
    metric: str,
    judged_metric: str,
) -> dict[str, Any]:
    """Where a version comes from, for the registry and the dashboard."""
    best = found[name]
    metrics = {f"{metric} by clicks": [best.value, best.low, best.high]}
    if judged is not None:
        mine = judged.systems["candidate"]
        metrics[f"{judged_metric} judged"] = [mine.mean[judged_metric], *mine.interval[judged_metric]]
    return {
        "name": name,
        "made": "learned",
        "window": record["window"],
        "production": record["production"],
        "propensity": next(iter(record["curves"].values())),
        "parameters": made.candidates[name].parameters,
        "metrics": metrics,
        "gain": best.to_dict()["gain"],
        "judged": record["judged"],
        "gate": record["gate"],
        "report": report,
    }
