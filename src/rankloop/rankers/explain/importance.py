"""How much each feature matters to a ranker."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._names import one_of
from rankloop._progress import progress
from rankloop._table import Table, Tabled
from rankloop.data import RankingDataset
from rankloop.metrics import Metric
from rankloop.metrics.results.evaluation import interval_text, number
from rankloop.metrics.results.mean import mean_of
from rankloop.rankers.base.feature_names import feature_names
from rankloop.rankers.base.objective import Objective
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Importance", "importance"]

SHOWN = 5  # features named in a note


@dataclass(frozen=True, eq=False, repr=False)
class Importance(Tabled):
    """One number per feature, in the order of the features; printing it shows the largest first.

    `low` and `high` bound what permutation estimates; splits and gains are counted and have no interval.
    """

    names: tuple[str, ...]
    values: Floats
    by: str
    low: Floats | None = None
    high: Floats | None = None
    notes: Sequence[str] = ()

    def order(self) -> Ints:
        """Feature indices, the most important first."""
        return np.argsort(-self.values, kind="stable")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON, the most important first."""
        features = []
        for i in self.order().tolist():
            row: dict[str, Any] = {"feature": self.names[i], "importance": number(self.values[i])}
            if self.low is not None and self.high is not None:
                row |= {"low": number(self.low[i]), "high": number(self.high[i])}
            features.append(row)
        return {"by": self.by, "features": features, "notes": list(self.notes)}

    def table(self, most: int = 30) -> Table:
        shown = self.order()[:most].tolist()
        notes = [*self.notes]
        if len(self.names) > most:
            notes.append(f"and {len(self.names) - most} features below these")
        if self.low is None or self.high is None:
            share = self.values / (self.values.sum() or 1.0)
            rows = [(self.names[i], f"{self.values[i]:,.6g}", f"{share[i]:.1%}") for i in shown]
            return Table(("feature", self.by, "share"), rows, notes=notes)
        rows = [
            (self.names[i], f"{self.values[i]:+.4f}", interval_text(self.low[i], self.high[i], "+"))
            for i in shown
        ]
        return Table(("feature", self.by, "95 % interval"), rows, notes=notes)


def importance(
    ranker: Ranker,
    data: RankingDataset | None = None,
    *,
    by: str = "permutation",
    metric: str | Metric = "ndcg@10",
    within: str = "query",
    resamples: int = 5,
    seed: int = 0,
) -> Importance:
    """How much each feature matters: what the metric loses when its values are shuffled (Breiman, 2001).

    Values are shuffled within each query, which measures what a feature contributes to the order of a list;
    `within="data"` shuffles them over all documents. Each query's loss is the mean over `resamples`, and the
    interval is over queries, by Student's t; a note says where few queries make the loss. Of two strongly
    correlated features each loses little: use `ablation` of both together. `by="split"` counts the splits of
    a forest, `by="gain"` sums their gain in training; both need no data and favour features with many values.

    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import RankSVM
    >>> data = synthetic(n_queries=40, docs_per_query=10, n_features=4, seed=0)
    >>> found = importance(RankSVM().fit(data), data, metric="ndcg@5", seed=0)
    >>> found.values.shape, bool((found.low <= found.values).all())
    ((4,), True)
    """
    one_of("importance", by, ("gain", "permutation", "split"))
    one_of("within", within, ("data", "query"))
    names = feature_names(ranker)
    if by != "permutation":
        return Importance(names, _counted(ranker, by), by)
    if data is None:
        raise ValueError("importance by permutation needs judged lists: importance(ranker, data)")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    objective = Objective.of(metric, data)
    sign = 1.0 if objective.metric.higher_is_better else -1.0
    whole = objective.values(ranker.predict(data))
    weight = np.ones(len(data)) if data.query_weight is None else data.query_weight.astype(np.float64)
    rng = np.random.default_rng(seed)
    X = np.array(data.X)
    found = []
    with progress("shuffling features", total=len(names)) as advance:
        for index in range(len(names)):
            column = X[:, index].copy()
            lost = np.zeros(len(data))
            for _ in range(resamples):
                X[:, index] = column[_shuffled(data, within, rng)]
                lost += sign * (whole - objective.values(ranker.predict(data.replace(X=X)))) / resamples
            X[:, index] = column
            found.append(mean_of(lost, weight, kind="student", usual=0.0))
            advance(1, names[index])
    values, low, high = (np.array([getattr(one, at) for one in found]) for at in ("value", "low", "high"))
    notes = [f"the loss of {objective.metric} when the feature is shuffled within each {within}"]
    rough = [name for name, one in zip(names, found, strict=True) if one.rough]
    if rough:
        shown = ", ".join(rough[:SHOWN]) + (f" and {len(rough) - SHOWN} more" if len(rough) > SHOWN else "")
        notes.append(f"a rough interval for {shown}: a few queries make most of its loss")
    return Importance(names, values, str(objective.metric), low, high, notes)


def _shuffled(data: RankingDataset, within: str, rng: np.random.Generator) -> Ints:
    if within == "data":
        return rng.permutation(data.n_documents)
    return np.lexsort((rng.random(data.n_documents), data.row_query))


def _counted(ranker: Ranker, by: str) -> Floats:
    """What the backend counted in training."""
    forest: Any = getattr(ranker, "forest_", None)
    library = getattr(forest, "library", None)
    if library == "lightgbm":
        return np.asarray(forest.booster.feature_importance(by), np.float64)
    if library == "xgboost":
        kind = {"split": "weight", "gain": "total_gain"}[by]
        named = forest.booster.feature_names or [f"f{i}" for i in range(ranker.n_features_in_)]
        found = forest.booster.get_score(importance_type=kind)
        return np.array([found.get(name, 0.0) for name in named], np.float64)
    raise ValueError(
        f"{type(ranker).__name__} of {library} has no {by}; use by='permutation' with judged lists"
        if library
        else f"{type(ranker).__name__} has no splits; use by='permutation' with judged lists"
    )
