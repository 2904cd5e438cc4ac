"""Weights of several goals, by constraints on some of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankloop.clicks import ClickLog
from rankloop.clicks.columns.rows import places
from rankloop.data import RankingDataset
from rankloop.metrics import Comparison, compare
from rankloop.rankers.base.ranker import Ranker
from rankloop.unbiased.estimation.bias import ClickBias
from rankloop.unbiased.goals import goals

__all__ = ["Balance", "balance"]

SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # of the first goal; the others have the rest
HELD_OUT = 0.3  # of the queries
METRIC = "dcg(gain=linear)@10"


@dataclass(frozen=True, eq=False, repr=False)
class Balance:
    """The ranker, the weights of its goals, and how every share tried stands on each goal."""

    ranker: Ranker
    weights: dict[str, float]
    kept: bool  # whether the constraints are met on held-out queries
    table: Comparison

    def to_dict(self) -> dict[str, Any]:
        return {"weights": self.weights, "kept": self.kept, "table": self.table.to_dict()}

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name} {weight:g}" for name, weight in self.weights.items())
        met = "constraints are met" if self.kept else "NO share meets the constraints; this one is nearest"
        return f"weights: {chosen} ({met} on held-out queries)\n{self.table!r}"


def balance(
    log: ClickLog,
    propensity: ClickBias,
    data: RankingDataset,
    ranker: Ranker,
    goal: str,
    *,
    at_least: Mapping[str, float],
    values: Mapping[str, ArrayLike] | None = None,
    seed: int = 0,
) -> Balance:
    """Find the ranker that does most for `goal` and keeps enough of the others.

    `at_least={"click": 0.97}` asks for 97 % of the clicks (dcg@10 of corrected clicks) that a ranker for the
    constrained goals alone would have. Copies of `ranker` are trained on seven shares of the goals and
    compared on queries that were held out; the one chosen is trained again on all of them. These are
    estimates: where the log is small, look at the intervals in the table.

    >>> from rankloop.clicks import simulate
    >>> from rankloop.data import synthetic
    >>> from rankloop.rankers import LinearRanker
    >>> data = synthetic(n_queries=60, docs_per_query=6, n_features=4, seed=0)
    >>> log = simulate(data, logging_policy=data.X[:, 0], sessions=6000, k=6, seed=0)
    >>> margin = log.click * (1.0 + data.X[log.rows(data), 1].clip(0))
    >>> found = balance(log, 1 / np.arange(1, 7), data, LinearRanker(loss="softmax"), "margin",
    ...                 at_least={"click": 0.9}, values={"margin": margin})
    >>> found.kept
    True
    """
    others = dict(at_least)
    if goal in others or not others:
        raise ValueError(f"at_least names other goals than {goal!r}, with the share of each to keep")
    if any(not 0 < one <= 1 for one in others.values()):
        raise ValueError(f"at_least has shares above 0 and up to 1, got {others}")
    given = {name: np.asarray(one, np.float64) for name, one in (values or {}).items()}
    ids = np.arange(data.n_documents) if data.docid is None else data.docid
    named = data.replace(docid=ids)
    asked = np.unique(places(log.queries, data.qid)[log.page_query.code])
    if len(asked) < 4:
        raise ValueError(f"balance holds out some of the queries; the log has {len(asked)}")
    order = np.random.default_rng(seed).permutation(asked)
    cut = max(1, round(HELD_OUT * len(order)))
    parts = [_part(log, named, given, np.sort(some)) for some in (order[cut:], order[:cut])]
    held = {
        name: goals(parts[1].log, propensity, parts[1].data, {name: 1.0}, values=parts[1].values)
        for name in (goal, *others)
    }
    tried = {share: _weights(goal, others, share) for share in SHARES}
    rankers = {
        f"{share:.0%} {goal}": clone(ranker).fit(
            goals(parts[0].log, propensity, parts[0].data, weights, values=parts[0].values)
        )
        for share, weights in tried.items()
    }
    found = compare(rankers, held, METRIC)
    shares = dict(zip(rankers, SHARES, strict=True))
    short = {name: _shortfall(found, name, others, next(iter(rankers))) for name in rankers}
    fitting = [name for name in rankers if short[name] <= 0]
    best = (
        max(fitting, key=lambda name: found.systems[name].mean[f"{METRIC} of {goal}"])
        if fitting
        else min(short, key=lambda name: short[name])
    )
    weights = tried[shares[best]]
    final = clone(ranker).fit(goals(log, propensity, named, weights, values=given))
    return Balance(final, weights, bool(fitting), found)


@dataclass(frozen=True, eq=False)
class _Part:
    log: ClickLog
    data: RankingDataset
    values: dict[str, Any]


def _part(log: ClickLog, data: RankingDataset, values: Mapping[str, Any], queries: Any) -> _Part:
    """The pages, the documents and the values of some queries."""
    pages = np.isin(places(log.queries, data.qid)[log.page_query.code], queries)
    kept = {name: one[pages[log.row_page]] for name, one in values.items()}
    return _Part(log.select(pages), data.select(queries), kept)


def _weights(goal: str, others: Mapping[str, float], share: float) -> dict[str, float]:
    return {goal: share} | dict.fromkeys(others, (1.0 - share) / len(others))


def _shortfall(found: Comparison, name: str, others: Mapping[str, float], alone: str) -> float:
    """How much of a constrained goal is missing at most, beside the ranker for these goals alone."""
    missing = []
    for goal, least in others.items():
        value, whole = (found.systems[one].mean[f"{METRIC} of {goal}"] for one in (name, alone))
        missing.append(least * whole - value)
    return max(missing)
