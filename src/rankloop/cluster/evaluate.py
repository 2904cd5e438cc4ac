"""The evaluation of a ranker on shards."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Singles
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each, ranker_bytes, ranker_of, shards_of
from rankloop.data.shards.shards import Shards
from rankloop.metrics import Evaluation, Metric
from rankloop.metrics.evaluate import evaluate as evaluate_here
from rankloop.metrics.evaluate import wanted_metrics

__all__ = ["evaluate", "evaluations"]


def evaluate(
    ranker: Any,
    data: Shards | str | Path,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    *,
    backend: str = "local",
    workers: int | None = None,
    confidence: float = 0.95,
    **options: Any,
) -> Evaluation:
    """What `rankloop.evaluate` gives on the whole data set; the workers score and measure their shards.

    They return the value of each query, so means, intervals and tests are over all queries, never means of
    means. `options` are those of `rankloop.evaluate`.
    """
    systems = {"": ranker_bytes(ranker)}
    return evaluations(systems, data, metrics, backend, workers, confidence, options)[""]


def evaluations(
    systems: dict[str, bytes],
    data: Shards | str | Path,
    metrics: Any,
    backend: str,
    workers: int | None,
    confidence: float,
    options: dict[str, Any],
) -> dict[str, Evaluation]:
    """The evaluation of each ranker, given as the bytes of its file; every shard is read once for all."""
    shards = shards_of(data, "documents")
    grades = np.array(shards.ranges.get("label", [0, 0]), np.float32)
    rules = {name: options.get(name) for name in ("ties", "empty")}
    wanted = [
        _graded(one, grades) for one in wanted_metrics(metrics, grades, options.get("convention"), rules)
    ]
    work = each(shards)
    parts = over(
        _measure,
        [(shard, systems, wanted, options) for shard in work],
        backend=backend,
        workers=workers,
        title="evaluating",
        sizes=[shard.n_rows for shard in work],
    )
    return {system: _joined([part[system] for part in parts], wanted, confidence) for system in systems}


def _graded(one: Metric, grades: Singles) -> Metric:
    """The metric with the highest grade of all shards, which one shard may lack."""
    if "max_label" in one.options and one.options["max_label"] is None:
        return replace(one, options={**one.options, "max_label": float(grades.max())})
    return one


def _measure(given: tuple[Shards, dict[str, bytes], list[Metric], dict[str, Any]]) -> dict[str, Evaluation]:
    shard, systems, wanted, options = given
    part = shard.dataset(0)
    return {
        system: evaluate_here(ranker_of(whole).predict(part), part, wanted, **options)
        for system, whole in systems.items()
    }


def _joined(parts: list[Evaluation], wanted: list[Metric], confidence: float) -> Evaluation:
    """One evaluation of all queries, in the order of the shards."""
    first = parts[0]
    values = {name: np.concatenate([part.values[name] for part in parts]) for name in first.names}
    weights = [part.query_weight for part in parts if part.query_weight is not None]
    weight = np.concatenate(weights) if weights else None
    return Evaluation(
        values,
        np.concatenate([part.qid for part in parts]),
        query_weight=weight,
        settings=first.settings,
        confidence=confidence,
        lower_is_better=first.lower_is_better,
        bounded=first.bounded,
        means={one.name: one.mean(values[one.name], weight) for one in wanted},
        notes=first.notes,
    )
