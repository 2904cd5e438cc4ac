"""The best of several rankers, by clicks on another one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from rankloop.data import RankingDataset
from rankloop.unbiased.counterfactual_estimate import Estimate, Question, Scorer
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.estimation.evidence import Log
from rankloop.unbiased.estimation.interval import interval

__all__ = ["Selection", "select"]


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """Estimates by name, and by how much each is behind the best: (difference, low, high), same queries."""

    best: str
    estimates: dict[str, Estimate]
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
        said = dict.fromkeys(f"warning: {text}" for one in self.estimates.values() for text in one.warnings)
        return "\n".join([*lines, *said])


def select(
    rankers: Mapping[str, Scorer | ArrayLike],
    log: Log,
    metric: str = "dcg@10",
    *,
    data: RankingDataset,
    propensity: ClickBias | None = None,
    method: str = "doubly_robust",
    seed: int = 0,
    **options: Any,
) -> Selection:
    """Estimate each ranker as `estimate` does, on the same corrected clicks, and name the best.

    Give a log that none of them was trained on: a ranker looks best on its own clicks.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> data = synthetic(n_queries=50, docs_per_query=5, n_features=3, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=5000, seed=0)
    >>> import numpy as np
    >>> rankers = {"right": data.y, "wrong": -data.y}
    >>> select(rankers, log, data=data, propensity=1 / np.arange(1, 11), method="ips").best
    'right'
    """
    if not rankers:
        raise ValueError("select needs at least one ranker, by name")
    question = Question(log, metric, data, propensity, method, seed, options)
    estimates = {name: question.answer(ranker) for name, ranker in rankers.items()}
    sign = 1 if question.metric.higher_is_better else -1
    best = max(estimates, key=lambda name: sign * estimates[name].value)
    worth = {name: question.worth(ranker) for name, ranker in rankers.items()}
    behind = {}
    for name, mine in worth.items():
        gap = mine - worth[best]
        above, below = question.sums(gap)
        if question.metric.name == "ctr":  # what trust brings is the same for both
            above = above - question.sums(0 * gap)[0]
        value = float(above.sum() / below.sum())
        behind[name] = (value, *interval(value, *question.error(gap, above, below)))
    return Selection(best, estimates, behind)
