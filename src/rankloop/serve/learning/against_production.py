"""Candidates of a learning run, compared with the version that serves."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankloop._arrays import Floats
from rankloop.clicks import ClickLog
from rankloop.data import RankingDataset
from rankloop.rankers import Ranker
from rankloop.search import Features, Pipeline, Searchable, first
from rankloop.serve.config import GateSettings
from rankloop.serve.learning.candidates import Candidate, Gain, Trained, estimate_gains, train_candidates
from rankloop.serve.learning.remembering import (
    REMEMBERED,
    Voices,
    gain_of_memory,
    one_ranker,
    remembered,
    with_memory,
)
from rankloop.serve.learning.window import Curves, Window

__all__ = ["Compared", "Rivals", "compare_with_production"]

PRODUCTION = "production"


@dataclass(frozen=True, eq=False)
class Compared:
    """Every candidate with its gain over production, and the one that goes to the gate."""

    made: Trained
    found: dict[str, Gain]
    chosen: str
    pipeline: Pipeline
    production: Floats
    again: Callable[[ClickLog], Gain]
    """The gain of the chosen one, estimated from some of the pages."""
    warnings: list[str]


@dataclass(frozen=True, eq=False)
class Rivals:
    """What candidates are made from: the version that serves, and how much is tried.

    `until` is when the pages end that production remembers; None where it remembers none. `voices` is None
    where clicks are not to be remembered.
    """

    index: Searchable
    production: Pipeline
    k: int
    budget: str
    voices: Voices | None
    until: float | None


def compare_with_production(
    rivals: Rivals, window: Window, log: ClickLog, curves: Curves, gate: GateSettings, *, seed: int = 0
) -> Compared:
    """Learn candidates; the best, by the lower bound of its gain, goes to the gate.

    Clicks are remembered on top of the ranker that serves, or of a learned one that is surely better. The
    gains of learned rankers are over the ranker that serves; what that remembers counts beside memory only.
    """
    data = window.data
    base = _scores(rivals.production, data)
    options: dict[str, Any] = {"metric": gate.metric, "confidence": gate.confidence, "seed": seed}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = train_candidates(log, data, curves.given, budget=rivals.budget, seed=seed)
        scores = {name: one.scores for name, one in made.candidates.items()}
        found = estimate_gains(log, data, made.curve, base, scores, **options)
        learned = [name for name in made.candidates if name.startswith("unbiased")]
        best = max(learned, key=lambda one: found[one].gain_low)
        again: dict[str, Callable[[ClickLog], Gain]] = {
            best: lambda some: estimate_gains(some, data, made.curve, base, {best: scores[best]}, **options)[
                best
            ]
        }
        if rivals.voices is not None:
            under = best if found[best].gain_low > 0 or not one_ranker(rivals.production) else PRODUCTION
            voices, above = rivals.voices, base if under == PRODUCTION else scores[under]

            def judge(some: ClickLog) -> Gain:
                return gain_of_memory(
                    some, data, made.curve, voices, above, base, until=rivals.until, **options
                )

            candidate = _remembering(rivals, made, log, data, base, under, seed)
            if np.any(candidate.shift):
                made.candidates[REMEMBERED] = candidate
                found[REMEMBERED], again[REMEMBERED] = judge(log), judge
    eligible = [one for one in (best, REMEMBERED) if one in again]
    if rivals.until is not None and REMEMBERED in again:
        eligible = [REMEMBERED]  # a ranker without memory is not compared with what production remembers
    chosen = max(eligible, key=lambda one: found[one].gain_low)
    candidate = made.candidates[chosen]
    warned = list(dict.fromkeys([*made.learned.warnings, *(str(one.message) for one in caught)]))
    return Compared(made, found, chosen, _pipeline(rivals, data, log, candidate), base, again[chosen], warned)


def _remembering(
    rivals: Rivals, made: Trained, log: ClickLog, data: RankingDataset, base: Floats, under: str, seed: int
) -> Candidate:
    """Memory on top of a ranker, as it would serve."""
    assert rivals.voices is not None
    ranker = rivals.production.ranker if under == PRODUCTION else made.candidates[under].ranker
    scores = base if under == PRODUCTION else np.asarray(ranker.predict(data), np.float64)
    memory = remembered(log, data, made.curve, rivals.voices, scores, seed=seed)
    queries = len(np.unique(data.row_query[memory.shift != 0]))
    about = {"on top of": under, "strength": memory.strength, "queries": queries}
    return Candidate(ranker, scores + memory.shift, about, memory.shift, under)


def _scores(pipeline: Pipeline, data: RankingDataset) -> Floats:
    """The scores of production's ranker for the documents with their logged features."""
    wanted, logged = pipeline.features.names, list(data.feature_names or ())
    missing = [name for name in wanted if name not in logged]
    if missing:
        raise ValueError(
            f"production uses the feature {missing[0]!r}, which is not logged; serve it for a while first"
        )
    columns = [logged.index(name) for name in wanted]
    ranker: Ranker = pipeline.ranker
    return ranker.predict(data.replace(X=data.X[:, columns], feature_names=wanted))


def _pipeline(rivals: Rivals, data: RankingDataset, log: ClickLog, candidate: Candidate) -> Pipeline:
    """The retriever of production, the logged features, the new ranker, and what is remembered."""
    search = rivals.production
    if candidate.under != PRODUCTION:
        features = Features.over(rivals.index, data.feature_names or ())
        search = Pipeline((search.stages[0],)) >> features >> candidate.ranker >> first(rivals.k)
    return search if candidate.shift is None else with_memory(search, data, log, candidate.shift)
