"""Several rankings against a baseline."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from rankloop._names import one_of, unknown
from rankloop.data import RankingDataset
from rankloop.metrics.evaluate import evaluate
from rankloop.metrics.results.comparison import Comparison
from rankloop.metrics.results.evaluation import Evaluation
from rankloop.metrics.results.matched import Judgments
from rankloop.metrics.results.verdict import TESTS

__all__ = ["checked_baseline", "compare"]


def compare(
    systems: Mapping[str, Any],
    judgments: Judgments | Mapping[str, RankingDataset],
    metrics: Any = "ndcg@10",
    *,
    baseline: str | None = None,
    test: str = "randomization",
    seed: int = 0,
    confidence: float = 0.95,
    **options: Any,
) -> Comparison:
    """Compare systems with a baseline (the first, unless named) on the same queries.

    Several goals at once are data sets by name, with the same lists and the labels of each goal: every metric
    is then taken of every goal, and the table says which systems no other one beats on all of them (Pareto).

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
    goals = _goals(judgments)
    if goals is None:
        plain = cast(Judgments, judgments)
        found = {
            name: evaluate(ranking, plain, metrics, confidence=confidence, **options)
            for name, ranking in systems.items()
        }
        return Comparison(found, first, test, seed, confidence)
    of_goals = {
        name: _together(
            {
                goal: evaluate(ranking, labels, metrics, confidence=confidence, **options)
                for goal, labels in goals.items()
            }
        )
        for name, ranking in systems.items()
    }
    return Comparison(of_goals, first, test, seed, confidence, goals=tuple(goals))


def _goals(judgments: Any) -> dict[str, RankingDataset] | None:
    """Data sets by goal, where the judgments are that: the same lists, each with labels of its own."""
    if not isinstance(judgments, Mapping) or not judgments:
        return None
    if not all(isinstance(one, RankingDataset) for one in judgments.values()):
        return None
    goals = dict(judgments)
    (name, one), *others = goals.items()
    for other, labels in others:
        if not np.array_equal(labels.qid, one.qid) or not np.array_equal(labels.offsets, one.offsets):
            raise ValueError(
                f"the goals {name!r} and {other!r} have different lists; give the same documents"
            )
    return goals


def _together(found: dict[str, Evaluation]) -> Evaluation:
    """One evaluation with the metrics of every goal."""

    def renamed(names: frozenset[str], goal: str) -> frozenset[str]:
        return frozenset(f"{one} of {goal}" for one in names)

    values = {f"{name} of {goal}": some for goal, one in found.items() for name, some in one.values.items()}
    first = next(iter(found.values()))
    means = {
        f"{name} of {goal}": mean for goal, one in found.items() for name, mean in (one.means or {}).items()
    }
    return replace(
        first,
        values=values,
        lower_is_better=frozenset().union(
            *(renamed(one.lower_is_better, goal) for goal, one in found.items())
        ),
        bounded=frozenset().union(*(renamed(one.bounded, goal) for goal, one in found.items())),
        means=means or None,
    )


def checked_baseline(systems: Mapping[str, Any], baseline: str | None, test: str) -> str:
    """The system that the others are compared with; wrong arguments of `compare` are an error."""
    one_of("test", test, TESTS)
    if len(systems) < 2:
        raise ValueError(f"compare needs at least two systems, got {len(systems)}: {', '.join(systems)}")
    first = next(iter(systems)) if baseline is None else baseline
    if first not in systems:
        raise unknown("baseline", first, systems)
    return first
