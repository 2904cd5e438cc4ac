"""Systems against a baseline by one metric."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Array
from rankloop.metrics.results.evaluation import Evaluation
from rankloop.metrics.results.mean import SAME, mean_of
from rankloop.metrics.results.significance import Difference, holm, paired_bootstrap, paired_t, randomization

__all__ = ["SAME", "TESTS", "Verdict", "on_few_queries", "verdicts"]

TESTS = {"randomization": "randomisation test", "t": "paired t-test", "bootstrap": "paired bootstrap test"}


class Verdict(NamedTuple):
    """One system against the baseline by one metric; `p_holm` is corrected for the number of systems."""

    difference: float
    low: float
    high: float
    p_value: float
    p_holm: float
    wins: int
    losses: int
    ties: int
    queries: int


def verdicts(
    systems: Mapping[str, Evaluation],
    baseline: Evaluation,
    metric: str,
    *,
    test: str,
    seed: int,
    confidence: float,
) -> dict[str, Verdict]:
    """The verdict on each system; together they are the family that Holm's correction is for."""
    paired = {name: _paired(system, baseline, metric) for name, system in systems.items()}
    tested = {name: _tested(*values, test, seed, confidence) for name, values in paired.items()}
    corrected = holm([difference.p_value for difference in tested.values()])
    lower = metric in baseline.lower_is_better
    return {
        name: Verdict(*difference[:4], float(p_holm), *_counts(*paired[name][:2], lower), difference.n)
        for (name, difference), p_holm in zip(tested.items(), corrected, strict=True)
    }


def on_few_queries(system: Evaluation, baseline: Evaluation, metric: str) -> bool:
    """Whether a few queries make most of the difference, so that a t or randomisation interval is rough."""
    new, old, weight = _paired(system, baseline, metric)
    return mean_of(new - old, weight, usual=0.0).rough


def _paired(system: Evaluation, baseline: Evaluation, metric: str) -> tuple[Array, Array, Array]:
    """The values of both, where both have one, and the weights of those queries."""
    new, old = system.values[metric], baseline.values[metric]
    both = np.isfinite(new) & np.isfinite(old)
    weight = np.ones(len(both)) if baseline.query_weight is None else baseline.query_weight
    return new[both], old[both], weight[both]


def _tested(new: Array, old: Array, weight: Array, test: str, seed: int, confidence: float) -> Difference:
    if not np.any(weight > 0):
        return Difference(np.nan, np.nan, np.nan, 1.0, 0)
    if test == "t":
        return paired_t(new, old, weight=weight, confidence=confidence)
    resampled = randomization if test == "randomization" else paired_bootstrap
    return resampled(new, old, weight=weight, confidence=confidence, seed=seed)


def _counts(new: Array, old: Array, lower: bool) -> tuple[int, int, int]:
    gain = old - new if lower else new - old
    wins, losses = int(np.sum(gain > SAME)), int(np.sum(gain < -SAME))
    return wins, losses, len(gain) - wins - losses
