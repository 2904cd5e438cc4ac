"""How much each model of a mixture counts, from scores of queries that it was not trained on."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.optimize import minimize

from rankloop._arrays import Floats, Ints
from rankloop.data import RankingDataset
from rankloop.losses import Softmax
from rankloop.rankers.base.objective import Objective

__all__ = ["Stack", "rows_of", "stack"]

FOLDS = 5
EQUAL = "equal weights"
Rule = Callable[[Floats, RankingDataset, Floats], Floats]  # (scores, data, metric of each model) -> weights


@dataclass(frozen=True, slots=True)
class Stack:
    """One weight per model, which sum to 1, and why they are these."""

    weights: Floats
    reason: str


def stack(scores: Floats, data: RankingDataset, metric: object, *, seed: int = 0) -> Stack:
    """Weights at or above 0 for columns of `scores`, normalised within lists, that no model was trained on.

    The rules are equal weights for all models, for the best half and for the best third, and weights that
    minimise the softmax loss, pulled towards equal ones. The one with the best metric is taken, where every
    query is scored with weights from other whole-query folds, if it beats equal weights by half a standard
    error or more.
    """
    models = scores.shape[1]
    if models == 1 or data.n_queries < 2 * FOLDS:
        return Stack(np.full(models, 1 / models), "equal weights" if models > 1 else "one model")
    objective = Objective.of(metric, data)  # type: ignore[arg-type] # a name or a metric
    sign = 1.0 if objective.metric.higher_is_better else -1.0
    single = np.column_stack([sign * objective.values(one) for one in scores.T])
    fold = np.random.default_rng([seed, 5]).permutation(data.n_queries) % FOLDS
    out = {name: np.empty(data.n_documents) for name in RULES}
    for part in range(FOLDS):
        inside, outside = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        rows, others = rows_of(data.offsets, inside), rows_of(data.offsets, outside)
        alone, rest = _means(single[outside]), data.select(outside)
        for name, rule in RULES.items():
            out[name][rows] = scores[rows] @ rule(scores[others], rest, alone)
    values = {name: sign * objective.values(one) for name, one in out.items()}
    best = max(RULES, key=lambda name: float(np.nanmean(values[name])))
    gain = values[best] - values[EQUAL]
    error = float(np.nanstd(gain) / np.sqrt(max(int(np.isfinite(gain).sum()), 1)))
    if best == EQUAL or np.nanmean(gain) < 0.5 * error:
        return Stack(np.full(models, 1 / models), "equal weights: no rule is clearly better on other queries")
    about = f"{best}: {float(np.nanmean(gain)):+.4f} ± {error:.4f} beside equal weights on other queries"
    return Stack(RULES[best](scores, data, _means(single)), about)


def _means(values: Floats) -> Floats:
    """The metric of each model; 0 where no query has a value."""
    means: Floats = np.nan_to_num(np.nanmean(np.vstack([values, np.zeros_like(values[:1])]), axis=0))
    return means


def _top(share: float) -> Rule:
    """Equal weights for this share of the models, the best of them."""

    def rule(scores: Floats, data: RankingDataset, alone: Floats) -> Floats:
        kept = np.argsort(-alone, kind="stable")[: ceil(share * len(alone))]
        weights = np.zeros(len(alone))
        weights[kept] = 1 / len(kept)
        return weights

    return rule


def _learned(pull: float) -> Rule:
    """Weights at or above 0 that minimise the mean softmax loss, and their distance from equal weights."""

    def rule(scores: Floats, data: RankingDataset, alone: Floats) -> Floats:
        models = scores.shape[1]
        loss = Softmax()

        def risk(w: Floats) -> tuple[float, Floats]:
            found = loss(scores @ w, data.y, data.offsets, query_weight=data.query_weight)
            off = w - w.mean()
            value = found.value.mean() + 0.5 * pull * models * float(off @ off)
            return float(value), scores.T @ found.gradient / data.n_queries + pull * models * off

        start = np.full(models, 2 / models)
        done = minimize(risk, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * models)
        weights: Floats = np.asarray(done.x, np.float64)
        return weights / weights.sum() if weights.sum() > 0 else np.full(models, 1 / models)

    return rule


RULES: dict[str, Rule] = {
    EQUAL: _top(1.0),
    "equal weights of the best half": _top(0.5),
    "equal weights of the best third": _top(1 / 3),
    "learned weights, near equal ones": _learned(0.3),
    "learned weights": _learned(0.03),
}


def rows_of(offsets: Ints, queries: Ints) -> Ints:
    """The rows of these queries, in order."""
    return np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in queries])
