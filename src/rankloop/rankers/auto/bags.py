"""Bags: a candidate fitted on whole-query folds of all data, with scores of the queries left out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.rankers.auto.candidates import Candidate
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.search import Setting, Tried, fit_one
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Bag", "bags", "chosen"]

ALIKE = 2  # members of one family at most
SAFETY = 1.3  # how much longer a fit may take than it did before


@dataclass(frozen=True, eq=False)
class Bag:
    """The models of one candidate, and the scores of every query by the model that did not see it."""

    candidate: Candidate
    rankers: list[Ranker]
    scores: Floats


def chosen(tried: Sequence[Tried], members: int) -> list[Tried]:
    """The best by the held-out queries, few of one family."""
    taken: list[Tried] = []
    for one in tried:
        alike = sum(one.candidate.family == other.candidate.family for other in taken)
        if len(taken) < members and alike < ALIKE:
            taken.append(one)
    return taken


def bags(
    tried: Sequence[Tried], data: RankingDataset, explored: int, clock: Clock, folds: int, setting: Setting
) -> list[Bag]:
    """One bag after another for as long as the time suffices; `explored` documents took `Tried.seconds`."""
    parts = _folds(data, folds, setting.seed)
    larger = data.n_documents * (folds - 1) / folds / max(explored, 1)
    made: list[Bag] = []
    with progress("bagging the best", total=len(tried)) as advance:
        try:
            for one in tried:
                expected = SAFETY * one.seconds * max(larger, 0.3)
                if expected * folds < clock.left:
                    made += _bag(one.candidate, data, parts, clock, expected, setting)
                advance(1)
        except KeyboardInterrupt:
            pass
    return made


def _folds(data: RankingDataset, folds: int, seed: int) -> list[tuple[Ints, Ints]]:
    """Query numbers to train on and to leave out."""
    part = np.random.default_rng([seed, 3]).permutation(data.n_queries) % folds
    return [(np.flatnonzero(part != one), np.flatnonzero(part == one)) for one in range(folds)]


def _bag(
    candidate: Candidate,
    data: RankingDataset,
    parts: Sequence[tuple[Ints, Ints]],
    clock: Clock,
    seconds: float,
    setting: Setting,
) -> list[Bag]:
    """The bag, of fits of `seconds` each, or nothing where one of its models could not be fitted."""
    scores, rankers = np.empty(data.n_documents), []
    for number, (inside, outside) in enumerate(parts):
        train, held = data.select(inside), data.select(outside)
        stop = clock.stop_after(min(2 * seconds, clock.left / (len(parts) - number)))
        ranker = fit_one(candidate, train, held, stop, setting)
        if ranker is None:
            return []
        found = ranker._scores(candidate.view.of(held.X, held.offsets), held.offsets)
        rows = np.concatenate([np.arange(data.offsets[q], data.offsets[q + 1]) for q in outside])
        scores[rows] = normalised(found, held.offsets, "zscore")
        rankers.append(ranker)
    return [Bag(candidate, rankers, scores)]
