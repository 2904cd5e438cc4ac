"""Rankers learned from a window of clicks, and the estimated value of each on queries held out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Array, Floats, Ints
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.propensity import Propensity
from rankloop.rankers import LinearRanker, Ranker
from rankloop.serve.json_value import json_value
from rankloop.unbiased import Learned, candidates, ips, learn, likelihood, likelihood_ranker, naive
from rankloop.unbiased.counterfactual_estimate import Evaluator

__all__ = ["Candidate", "Curve", "Gain", "Trained", "estimate_gains", "evaluator_of", "train_candidates"]

Curve = Propensity | dict[str, Propensity]
FOLDS = 3
TREES = 100
JUDGE = 60  # trees of the model of relevance behind the doubly robust estimate


@dataclass(frozen=True)
class Gain:
    """A value and its gain over production, each with bounds at the gate's confidence."""

    value: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float
    clicks: float  # effective sample size of the estimate

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": [self.value, self.low, self.high],
            "gain": [self.gain, self.gain_low, self.gain_high],
            "clicks": self.clicks,
        }


@dataclass(frozen=True, eq=False)
class Candidate:
    """A ranker of all queries, and scores of each query by a ranker that was learned without it.

    Where clicks are remembered, `shift` is what they add to the scores of the ranker, which is that of the
    candidate `under` it.
    """

    ranker: Ranker
    scores: Floats
    parameters: dict[str, Any]
    shift: Floats | None = None
    under: str | None = None


@dataclass(frozen=True, eq=False)
class Trained:
    """Candidates by name, the curve they were learned with, and the result of `unbiased.learn`."""

    candidates: dict[str, Candidate]
    curve: Curve
    learned: Learned


def train_candidates(
    log: ClickLog, data: RankingDataset, curve: Curve | None, *, budget: str = "usual", seed: int = 0
) -> Trained:
    """Three rankers: trees and linear weights with the bias corrected, and linear weights from plain clicks.

    Each is learned once on all queries, and once without each of three folds, to be evaluated there. With the
    `budget` "usual" the trees are the stack of `unbiased.learn`, which has such scores already.
    """
    shapes = candidates(trees=TREES, threads=1)
    learned = learn(
        log, data, propensity=curve, rankers=shapes, networks=False, budget=budget, seed=seed
    )  # one forest: it answers within milliseconds
    known = Propensity.given(learned.curve) if curve is None else curve
    ways: dict[str, Callable[[ClickLog, RankingDataset], Ranker]] = {
        "unbiased weights": lambda some, of: _weights().fit(ips(some, known, of)),
        "naive weights": lambda some, of: _weights().fit(naive(some, of)),
    }
    made = {}
    if learned.scores is None:  # one forest
        shape = shapes[learned.chosen]
        ways["unbiased trees"] = lambda some, of: likelihood(some, of, propensity=known, ranker=shape)
    else:
        made["unbiased trees"] = Candidate(learned.ranker, learned.scores, _plain(learned.ranker))
    part = _parts(data.n_queries, seed)
    fitted = {"unbiased trees": learned.ranker}
    for name, way in ways.items():
        scores = np.empty(data.n_documents)
        for one in np.unique(part):
            ranker = way(_of_queries(log, data.qid[part != one]), data.select(np.flatnonzero(part != one)))
            rows = part[data.row_query] == one
            scores[rows] = ranker.predict(data.select(np.flatnonzero(part == one)))
        ranker = fitted.get(name) or way(log, data)
        made[name] = Candidate(ranker, scores, _plain(ranker))
    return Trained(made, known, learned)


def estimate_gains(
    log: ClickLog,
    data: RankingDataset,
    curve: Curve,
    production: Floats,
    scores: Mapping[str, Floats],
    *,
    metric: str,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Gain]:
    """The doubly robust estimate of each ranking (one score per row), and its gain over production.

    The interval of a value is two-sided, 95 %; each bound of a gain is one-sided, with the given confidence.
    """
    evaluator = evaluator_of(log, data, curve, metric=metric, seed=seed)
    base = evaluator.weights(production)
    found = {}
    for name, one in {"production": production, **scores}.items():
        weights = evaluator.weights(one)
        value, low, high = evaluator.bounds(weights)
        gain = (0.0, 0.0, 0.0)
        if name != "production":  # two bounds, each with the whole error on its side
            gain = evaluator.bounds(weights - base, confidence=2 * confidence - 1, gap=True)
        found[name] = Gain(value, low, high, *gain, evaluator.effective_sample_size())
    return found


def evaluator_of(
    log: ClickLog, data: RankingDataset, curve: Curve, *, metric: str, seed: int = 0
) -> Evaluator:
    """The doubly robust estimate of the gate, ready for any ranking."""
    judge = likelihood_ranker(trees=JUDGE, threads=1)
    return Evaluator(log, data, metric, propensity=curve, seed=seed, ranker=judge)


def _weights() -> LinearRanker:
    return LinearRanker(loss="softmax", l2=0.1)


def _parts(queries: int, seed: int) -> Ints:
    return np.random.default_rng(seed).permutation(np.arange(queries) % min(FOLDS, queries))


def _of_queries(log: ClickLog, queries: Array) -> ClickLog:
    return log.select(np.isin(log.queries, queries)[log.page_query.code])


def _plain(ranker: Ranker) -> dict[str, Any]:
    """The parameters of a ranker in JSON's types."""
    given = {name: value for name, value in ranker.get_params(deep=False).items() if value is not None}
    return {"ranker": type(ranker).__name__, **json_value(given)}
