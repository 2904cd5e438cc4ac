"""What is kept of a learning run beside the version it made."""

from typing import Any

from rankloop.metrics import Comparison
from rankloop.propensity import Propensity
from rankloop.serve.learning.candidates import Gain, Trained
from rankloop.serve.learning.window import Curves

__all__ = ["METRIC", "curves_record", "difference_record", "lineage_of"]

METRIC = "ndcg@10"  # of judgments


def curves_record(curves: Curves, made: Trained) -> dict[str, Any]:
    """The curve of each layout, or the one that was learned with the ranker."""
    if curves.by_layout:
        return {name: one.to_dict() for name, one in curves.by_layout.items()}
    return {"learned": Propensity.given(made.learned.curve).to_dict()}


def difference_record(comparison: Comparison) -> dict[str, Any]:
    """How much better the candidate is on judgments, with its interval."""
    verdict = comparison.verdicts[METRIC]["candidate"]
    return {"metric": METRIC, "difference": [verdict.difference, verdict.low, verdict.high]}


def lineage_of(
    name: str,
    made: Trained,
    found: dict[str, Gain],
    judged: Comparison | None,
    record: dict[str, Any],
    report: str,
    metric: str,
) -> dict[str, Any]:
    """Where a version comes from, for the registry and the dashboard."""
    best = found[name]
    metrics = {f"{metric} by clicks": [best.value, best.low, best.high]}
    if judged is not None:
        mine = judged.systems["candidate"]
        metrics[f"{METRIC} judged"] = [mine.mean[METRIC], *mine.interval[METRIC]]
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
