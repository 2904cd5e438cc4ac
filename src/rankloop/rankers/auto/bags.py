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
from rankloop.rankers.auto.stack import rows_of
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Bag", "Folds", "bags", "chosen", "repeated"]

ALIKE = 2  # members of one family at most
SAFETY = 1.3  # how much longer a fit may take than it did before
TOGETHER = 3  # members that shall have time for all folds; else there are fewer folds


@dataclass(frozen=True, eq=False)
class Bag:
    """The models of one candidate, and the scores of the queries by models that did not see them.

    `seconds` is the time of one fit. Queries of folds for which there was no time have no scores (nan).
    """

    candidate: Candidate
    rankers: list[Ranker]
    scores: Floats
    seconds: float


@dataclass(frozen=True, eq=False)
class Folds:
    """All data in `count` parts of whole queries; models are fitted without one of the first `used` parts."""

    data: RankingDataset
    count: int
    used: int
    seed: int

    def parts(self, repeat: int = 0) -> list[tuple[Ints, Ints]]:
        """Query numbers to train on and to leave out."""
        key = [self.seed, 3] if repeat == 0 else [self.seed, 3, repeat]
        part = np.random.default_rng(key).permutation(self.data.n_queries) % self.count
        return [(np.flatnonzero(part != one), np.flatnonzero(part == one)) for one in range(self.used)]

    @property
    def left_out(self) -> Ints:
        """The queries that have a model which did not see them."""
        return np.sort(np.concatenate([outside for _, outside in self.parts()]))

    def unseen(self, scores: Sequence[Floats]) -> tuple[RankingDataset, Floats]:
        """The queries left out, and their scores: a column for each bag."""
        columns = np.column_stack(scores)
        if self.used == self.count:
            return self.data, columns
        seen = self.left_out
        return self.data.select(seen), columns[rows_of(self.data.offsets, seen)]


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
) -> tuple[list[Bag], Folds]:
    """One bag after another for as long as the time suffices; `explored` documents took `Tried.seconds`.

    Where the time is short for all folds of the first members, only some of the folds are left out in turn,
    down to one, and the first member gets what time there is.
    """
    larger = max(SAFETY * data.n_documents * (folds - 1) / folds / max(explored, 1), 0.3)
    first = larger * sum(one.seconds for one in tried[:TOGETHER])
    used = int(np.clip(clock.left // max(first, 1e-9), 1, folds))
    over = Folds(data, folds, used, setting.seed)
    made: list[Bag] = []
    with progress("bagging the best", total=len(tried)) as advance:
        try:
            for one in tried:
                expected = larger * one.seconds
                if expected * used < clock.left or (not made and one.candidate.kind == "trees"):
                    made += _bag(one.candidate, over, 0, clock, expected, setting)
                advance(1)
        except KeyboardInterrupt:
            pass
    return made, over


def repeated(
    made: Sequence[Bag], over: Folds, clock: Clock, most: int, setting: Setting
) -> tuple[list[Bag], int]:
    """Every bag with the models of other divisions into folds added, while the time suffices for all of them.

    Returns the bags and how many divisions they have.
    """
    whole, done = list(made), 1
    if over.used < over.count:
        return whole, done
    with progress("bagging again", total=(most - 1) * len(made)) as advance:
        try:
            for repeat in range(1, most):
                if SAFETY * over.used * sum(bag.seconds for bag in made) > clock.left:
                    break
                more: list[Bag] = []
                for bag in made:
                    more += _bag(bag.candidate, over, repeat, clock, SAFETY * bag.seconds, setting)
                    advance(1)
                if len(more) < len(made):
                    break
                whole = [_merged(one, other, repeat) for one, other in zip(whole, more, strict=True)]
                done += 1
        except KeyboardInterrupt:
            pass
    return whole, done


def _merged(bag: Bag, more: Bag, repeat: int) -> Bag:
    scores = (repeat * bag.scores + more.scores) / (repeat + 1)
    return Bag(bag.candidate, bag.rankers + more.rankers, scores, bag.seconds)


def _bag(
    candidate: Candidate, over: Folds, repeat: int, clock: Clock, seconds: float, setting: Setting
) -> list[Bag]:
    """The bag, of fits of `seconds` each, or nothing where one of its models could not be fitted."""
    data, parts = over.data, over.parts(repeat)
    scores, rankers = np.full(data.n_documents, np.nan), []
    start = clock.spent
    for number, (inside, outside) in enumerate(parts):
        train, held = data.select(inside), data.select(outside)
        stop = clock.stop_after(min(2 * seconds, clock.left / (len(parts) - number)))
        ranker = fit_one(candidate, train, held, stop, setting, seed=setting.seed + repeat)
        if ranker is None:
            return []
        found = ranker._scores(candidate.view.of(held.X, held.offsets), held.offsets)
        scores[rows_of(data.offsets, outside)] = normalised(found, held.offsets, "zscore")
        rankers.append(ranker)
    return [Bag(candidate, rankers, scores, (clock.spent - start) / len(parts))]
