"""The best of several rankers, by the clicks on another one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from rankloop.data import RankingDataset
from rankloop.unbiased.counterfactual_estimate import CounterfactualEstimate, Evaluator, Scorer
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Log

__all__ = ["Selection", "select"]


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """Estimates by name; `behind` has the difference of each to the best: (difference, low, high)."""

    best: str
    estimates: dict[str, CounterfactualEstimate]
    behind: dict[str, tuple[float, float, float]]

    def to_dict(self) -> dict[str, Any]:
        estimates = {name: one.to_dict() for name, one in self.estimates.items()}
        return {
            "best": self.best,
            "estimates": estimates,
            "behind": {k: list(v) for k, v in self.behind.items()},
        }

    def __repr__(self) -> str:
        wide = max(len(name) for name in self.estimates)
        lines = []
        for name, one in self.estimates.items():
            gap = "best" if name == self.best else "{:+.4f} ({:+.4f} to {:+.4f})".format(*self.behind[name])
            lines.append(f"{name:<{wide}}  {one.value:.4f} ({one.low:.4f} to {one.high:.4f})  {gap}")
        warnings = dict.fromkeys(
            f"warning: {text}" for one in self.estimates.values() for text in one.warnings
        )
        return "\n".join([*lines, *warnings])


def select(
    log: Log,
    data: RankingDataset,
    rankers: Mapping[str, Scorer | ArrayLike],
    metric: str = "dcg@10",
    *,
    propensity: ClickBias | None = None,
    method: str = "doubly_robust",
    seed: int = 0,
    **options: Any,
) -> Selection:
    """Estimate each ranker as `counterfactual_estimate` does, on the same corrected clicks; name the best.

    Give a log that none of them was trained on: a ranker looks best on its own clicks.

    >>> import numpy as np
    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=5000, seed=0)
    >>> rankers = {"right": data.y, "wrong": -data.y}
    >>> select(log, data, rankers, propensity=1 / np.arange(1, 11), method="ips").best
    'right'
    """
    if not rankers:
        raise ValueError("select needs at least one ranker, by name")
    evaluator = Evaluator(log, data, metric, propensity=propensity, method=method, seed=seed, **options)
    scores = {name: evaluator.scores(ranker) for name, ranker in rankers.items()}
    estimates = {name: evaluator.estimate(one) for name, one in scores.items()}
    sign = 1 if evaluator.metric.higher_is_better else -1
    best = max(estimates, key=lambda name: sign * estimates[name].value)
    behind = {name: evaluator.difference(one, scores[best]) for name, one in scores.items()}
    return Selection(best, estimates, behind)
