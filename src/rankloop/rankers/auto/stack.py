"""How much each model of a mixture counts, from scores of queries that it was not trained on."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from rankloop._arrays import Floats, Ints
from rankloop.data import RankingDataset
from rankloop.losses import Softmax
from rankloop.rankers.base.objective import Objective

__all__ = ["Stack", "rows_of", "stack"]

PULLS = (0.03, 0.3)  # towards equal weights; the larger, the stronger
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Stack:
    """One weight per model, which sum to 1, and why they are these."""

    weights: Floats
    reason: str


def stack(scores: Floats, data: RankingDataset, metric: object, *, seed: int = 0) -> Stack:
    """Weights at or above 0 for columns of `scores`, normalised within lists, that no model was trained on.

    Weights that minimise the softmax loss, pulled towards equal ones, are compared with equal weights by
    whole-query folds; they are taken only where the metric is better by half a standard error or more.
    """
    models = scores.shape[1]
    equal = np.full(models, 1 / models)
    if models == 1 or data.n_queries < 2 * FOLDS:
        return Stack(equal, "equal weights" if models > 1 else "one model")
    fold = np.random.default_rng([seed, 5]).permutation(data.n_queries) % FOLDS
    out = {pull: np.empty(data.n_documents) for pull in PULLS}
    for part in range(FOLDS):
        inside, outside = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        rows, others = rows_of(data.offsets, inside), rows_of(data.offsets, outside)
        for pull in PULLS:
            out[pull][rows] = scores[rows] @ _fitted(scores[others], data.select(outside), pull)
    objective = Objective.of(metric, data)  # type: ignore[arg-type] # a name or a metric
    sign = 1.0 if objective.metric.higher_is_better else -1.0
    plain = sign * objective.values(scores @ equal)
    gains = {pull: sign * objective.values(one) - plain for pull, one in out.items()}
    best = max(gains, key=lambda pull: float(np.nanmean(gains[pull])))
    gain = float(np.nanmean(gains[best]))
    known = int(np.isfinite(gains[best]).sum())
    error = float(np.nanstd(gains[best]) / np.sqrt(max(known, 1)))
    if gain < 0.5 * error or gain <= 0:
        return Stack(equal, f"equal weights: learned ones gain {gain:+.4f} on other queries")
    return Stack(
        _fitted(scores, data, best), f"learned weights: they gain {gain:+.4f} ± {error:.4f} on other queries"
    )


def _fitted(scores: Floats, data: RankingDataset, pull: float) -> Floats:
    """Weights at or above 0 that minimise the mean softmax loss, and their distance from equal weights."""
    models = scores.shape[1]
    loss = Softmax()
    start = np.full(models, 2 / models)

    def risk(w: Floats) -> tuple[float, Floats]:
        found = loss(scores @ w, data.y, data.offsets, query_weight=data.query_weight)
        off = w - w.mean()
        value = found.value.mean() + 0.5 * pull * models * float(off @ off)
        return float(value), scores.T @ found.gradient / data.n_queries + pull * models * off

    done = minimize(risk, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * models)
    weights: Floats = np.asarray(done.x, np.float64)
    return weights / weights.sum() if weights.sum() > 0 else np.full(models, 1 / models)


def rows_of(offsets: Ints, queries: Ints) -> Ints:
    """The rows of these queries, in order."""
    return np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in queries])
