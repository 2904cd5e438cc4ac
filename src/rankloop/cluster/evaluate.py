"""How good a ranker is on more documents than one machine holds."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._names import one_of, unknown
from rankloop.cluster.backends.backend import over
from rankloop.cluster.backends.inputs import each, ranker_bytes, ranker_of, shards_of
from rankloop.data.shards.shards import Shards
from rankloop.metrics import Comparison, Evaluation, Metric
from rankloop.metrics.evaluate import _wanted
from rankloop.metrics.evaluate import evaluate as evaluate_here
from rankloop.metrics.results.verdict import TESTS

__all__ = ["compare", "evaluate"]


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
    """What `rankloop.evaluate` gives on the whole, from the shards: each list is measured where it lies.

    Only the value of each query travels, so means, intervals and tests are over all queries, never means
    of means. `options` are those of `rankloop.evaluate`.
    """
    systems = {"": ranker_bytes(ranker)}
    return _evaluated(systems, data, metrics, backend, workers, confidence, options)[""]


def compare(
    rankers: Mapping[str, Any],
    data: Shards | str | Path,
    metrics: Any = "ndcg@10",
    *,
    baseline: str | None = None,
    test: str = "randomization",
    seed: int = 0,
    backend: str = "local",
    workers: int | None = None,
    confidence: float = 0.95,
    **options: Any,
) -> Comparison:
    """What `rankloop.compare` gives on the whole; every shard is read once for all rankers."""
    one_of("test", test, TESTS)
    if len(rankers) < 2:
        raise ValueError(f"compare needs at least two rankers, got {len(rankers)}: {', '.join(rankers)}")
    first = next(iter(rankers)) if baseline is None else baseline
    if first not in rankers:
        raise unknown("baseline", first, rankers)
    systems = {name: ranker_bytes(ranker) for name, ranker in rankers.items()}
    found = _evaluated(systems, data, metrics, backend, workers, confidence, options)
    return Comparison(found, first, test, seed, confidence)


def _evaluated(
    systems: dict[str, bytes],
    data: Shards | str | Path,
    metrics: Any,
    backend: str,
    workers: int | None,
    confidence: float,
    options: dict[str, Any],
) -> dict[str, Evaluation]:
    shards = shards_of(data, "documents")
    grades = np.array(shards.ranges.get("label", [0, 0]), np.float32)
    told = {name: options.get(name) for name in ("ties", "empty")}
    wanted = [_graded(one, grades) for one in _wanted(metrics, grades, options.get("convention"), told)]
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


def _graded(one: Metric, grades: NDArray[np.float32]) -> Metric:
    """With the best grade of the whole, which a shard may lack."""
    if "max_label" in one.options and one.options["max_label"] is None:
        return replace(one, options={**one.options, "max_label": float(grades.max())})
    return one


def _measure(
    asked: tuple[Shards, dict[str, bytes], list[Metric], dict[str, Any]],
) -> dict[str, Evaluation]:
    shard, systems, wanted, options = asked
    part = shard.dataset(0)
    return {
        system: evaluate_here(ranker_of(whole).predict(part), part, wanted, **options)
        for system, whole in systems.items()
    }


def _joined(parts: list[Evaluation], wanted: list[Metric], confidence: float) -> Evaluation:
    """All queries as if they had been measured together, in the order of the shards."""
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
