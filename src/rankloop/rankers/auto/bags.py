"""Bags: a candidate fitted on whole-query folds of all data, with scores of the queries left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.rankers.auto.candidates import Candidate
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.costs import BAGGED, SAFETY, larger, one_fold
from rankloop.rankers.auto.search import Setting, Tried, fit_one
from rankloop.rankers.auto.stack import rows_of
from rankloop.rankers.base.per_list import normalised
from rankloop.rankers.base.ranker import Ranker

__all__ = ["Bag", "Folds", "bags", "folds_for", "refitted", "repeated"]

WORTH = 0.3  # of the time of a fit, with which it is begun: fewer trees of more documents are no better


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
    """All data in `count` parts of whole queries; models are fitted without one of the first `used` parts.

    The first part is `held`, the queries on which models were compared; `free` says that the models which
    were compared are those without this part. Further divisions (`repeat`) are at random.
    """

    data: RankingDataset
    held: Ints
    count: int
    used: int
    free: bool
    seed: int

    def parts(self, repeat: int = 0) -> list[tuple[Ints, Ints]]:
        """Query numbers to train on and to leave out."""
        rng = np.random.default_rng([self.seed, 3, repeat])
        if repeat == 0:
            part = np.empty(self.data.n_queries, np.int64)
            part[rng.permutation(self.data.n_queries)] = np.arange(self.data.n_queries) % (self.count - 1) + 1
            part[self.held] = 0
        else:
            part = rng.permutation(self.data.n_queries) % self.count
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


def folds_for(
    tried: Sequence[Tried], everything: RankingDataset, held: Ints, explored: int | None,
    clock: Clock, count: int, seed: int,
) -> Folds:  # fmt: skip
    """As many folds as there is time for, for the quickest of the first; `explored` documents took `seconds`.

    Where `explored` is None, the models that were compared were fitted on all queries but those held out:
    then it is all folds or none, as fits on all queries (`refitted`) cost less than some of the folds.
    """
    free = explored is None
    if everything.n_queries - len(held) < 2 * count:
        return Folds(everything, held, count, 1, free, seed)
    one = one_fold([one.seconds for one in tried], larger(everything, held, explored))
    fits = int(clock.left / max(one, 1e-9))
    used = (count if fits >= count - 1 else 1) if free else max(1, min(count, fits))
    return Folds(everything, held, count, used, free, seed)


def bags(
    tried: Sequence[Tried], over: Folds, explored: int | None, clock: Clock, setting: Setting
) -> list[Bag]:
    """One bag after another for as long as there is time; the first also where it is stopped early.

    After `BAGGED` times as many as are kept, only in time that the other divisions leave.
    """
    slower = larger(over.data, over.held, explored)
    missing = over.used - over.free
    made: list[Bag] = []
    with progress("bagging the best", total=len(tried)) as advance:
        try:
            for one in tried:
                seconds = slower * one.seconds
                needed = seconds * missing
                if len(made) >= BAGGED * setting.members:
                    kept = sum(bag.seconds for bag in made[: setting.members])
                    needed += SAFETY * over.used * (setting.divisions - 1) * kept
                short = not made and one.candidate.kind == "trees" and WORTH * needed < clock.left
                if needed < clock.left or short:
                    made += _bag(one.candidate, over, 0, clock, seconds, setting, one if over.free else None)
                advance(1)
        except KeyboardInterrupt:
            clock.interrupt()
    return made


def repeated(
    made: Sequence[Bag], over: Folds, clock: Clock, most: int, setting: Setting
) -> tuple[list[Bag], int]:
    """Bags with the models of other divisions into folds added, while there is time; the first ones first.

    Returns the bags and how many divisions they have at most.
    """
    whole = list(made)
    if over.used < over.count:
        return whole, 1
    with progress("bagging again", total=(most - 1) * len(made)) as advance:
        try:
            for repeat in range(1, most):
                for at, bag in enumerate(whole):
                    seconds = SAFETY * bag.seconds
                    if over.used * seconds < clock.left:
                        for more in _bag(bag.candidate, over, repeat, clock, seconds, setting):
                            whole[at] = _merged(bag, more)
                    advance(1)
        except KeyboardInterrupt:
            clock.interrupt()
    return whole, max(len(bag.rankers) for bag in whole) // over.used


def refitted(
    made: Sequence[Bag],
    weights: Floats,
    everything: RankingDataset,
    held: Ints,
    clock: Clock,
    setting: Setting,
) -> tuple[list[Bag], int]:
    """Every bag with a model of all queries added, those that count most first, while there is time.

    No queries are left to stop by: trees grow as many as before, and more as there are more documents.
    Returns the bags and how many have such a model; a network is left as it is.
    """
    whole, done, more = list(made), 0, larger(everything, held, None)
    try:
        for at in np.argsort(-weights, kind="stable"):
            bag = made[at]
            if weights[at] > 0 and bag.candidate.kind != "neural" and more * bag.seconds < clock.left:
                candidate = bag.candidate
                if candidate.kind == "trees":
                    trees = round(more / SAFETY * bag.rankers[0].n_trees_)
                    candidate = replace(candidate, params={**candidate.params, "trees": trees})
                ranker = fit_one(candidate, everything, None, clock.stop_after(clock.left), setting)
                if ranker is not None:
                    whole[at] = replace(bag, rankers=[*bag.rankers, ranker])
                    done += 1
    except KeyboardInterrupt:
        clock.interrupt()
    return whole, done


def _merged(bag: Bag, more: Bag) -> Bag:
    """Both, of which the second has the models of one division."""
    before = len(bag.rankers) // len(more.rankers)
    scores = (before * bag.scores + more.scores) / (before + 1)
    return Bag(bag.candidate, bag.rankers + more.rankers, scores, bag.seconds)


def _bag(
    candidate: Candidate, over: Folds, repeat: int, clock: Clock, seconds: float, setting: Setting,
    first: Tried | None = None,
) -> list[Bag]:  # fmt: skip
    """The bag, of fits of `seconds` each, or nothing where one of its models could not be fitted.

    Trees are stopped in time; other models end as soon as the next one would take too long.
    `first` is the model without the first part, where there is one.
    """
    data, parts = over.data, over.parts(repeat)
    scores, rankers = np.full(data.n_documents, np.nan), []
    if first is not None:
        scores[rows_of(data.offsets, over.held)] = first.scores
        rankers, parts = [first.ranker], parts[1:]
    start = clock.spent
    for number, (inside, outside) in enumerate(parts):
        if candidate.kind != "trees" and number and (clock.spent - start) / number > clock.left:
            return []
        train, held = data.select(inside), data.select(outside)
        stop = clock.stop_after(min(2 * seconds, clock.left / (len(parts) - number)))
        ranker = fit_one(candidate, train, held, stop, setting, seed=setting.seed + repeat)
        if ranker is None:
            return []
        found = ranker._scores(candidate.view.of(held.X, held.offsets), held.offsets)
        scores[rows_of(data.offsets, outside)] = normalised(found, held.offsets, "zscore")
        rankers.append(ranker)
    return [Bag(candidate, rankers, scores, (clock.spent - start) / len(parts) if parts else seconds)]
