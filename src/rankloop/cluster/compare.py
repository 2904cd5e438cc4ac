"""The comparison of rankers on shards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankloop.cluster.backends.inputs import ranker_bytes
from rankloop.cluster.evaluate import evaluations
from rankloop.data.shards.shards import Shards
from rankloop.metrics import Comparison
from rankloop.metrics.compare import checked_baseline

__all__ = ["compare"]


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
    """What `rankloop.compare` gives on the whole data set; every shard is read once for all rankers."""
    first = checked_baseline(rankers, baseline, test)
    systems = {name: ranker_bytes(ranker) for name, ranker in rankers.items()}
    found = evaluations(systems, data, metrics, backend, workers, confidence, options)
    return Comparison(found, first, test, seed, confidence)
