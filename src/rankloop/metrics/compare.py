"""Several rankings against a baseline."""

from collections.abc import Mapping
from typing import Any

from rankloop._names import one_of, unknown
from rankloop.metrics.evaluate import evaluate
from rankloop.metrics.results.comparison import Comparison
from rankloop.metrics.results.matched import Judgments
from rankloop.metrics.results.verdict import TESTS

__all__ = ["checked_baseline", "compare"]


def compare(
    systems: Mapping[str, Any],
    judgments: Judgments,
    metrics: Any = "ndcg@10",
    *,
    baseline: str | None = None,
    test: str = "randomization",
    seed: int = 0,
    confidence: float = 0.95,
    **options: Any,
) -> Comparison:
    """Compare systems with a baseline (the first, unless named) on the same queries.

    `test` is `"randomization"` (Fisher's), `"t"` or `"bootstrap"`; p-values are corrected by Holm over
    the systems compared with the baseline, for each metric. Queries without a value in one of the two
    systems are left out. Further options go to `evaluate`.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(8)}
    >>> old = {f"q{i}": {"b": 2.0, "a": 1.0} for i in range(8)}
    >>> new = {f"q{i}": {"b": 2.0, "a": 3.0 if i else 1.0} for i in range(8)}
    >>> compare({"old": old, "new": new}, qrels, "mrr").verdicts["mrr"]["new"]
    Verdict(difference=0.4375, low=0.25, high=0.5, p_value=0.015625, p_holm=0.015625,
            wins=7, losses=0, ties=1, queries=8)
    """
    first = checked_baseline(systems, baseline, test)
    found = {
        name: evaluate(ranking, judgments, metrics, confidence=confidence, **options)
        for name, ranking in systems.items()
    }
    return Comparison(found, first, test, seed, confidence)


def checked_baseline(systems: Mapping[str, Any], baseline: str | None, test: str) -> str:
    """The system that the others are compared with; wrong arguments of `compare` are an error."""
    one_of("test", test, TESTS)
    if len(systems) < 2:
        raise ValueError(f"compare needs at least two systems, got {len(systems)}: {', '.join(systems)}")
    first = next(iter(systems)) if baseline is None else baseline
    if first not in systems:
        raise unknown("baseline", first, systems)
    return first
