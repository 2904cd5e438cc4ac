"""Empirical Bayes: how strongly the parameters of documents are shrunk, and to what.

The prior of a parameter of documents is a Beta distribution, with one centre for the documents of a rank
and one strength, in trials. Centres follow from the expected counts, strengths from pages that were held out.
Where a model says how often each rank is examined, relative to the first, documents of the first rank give
the centre for all: they are the ones whose examination is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.clicks.fitting.fit import Problem, Values, improved

__all__ = ["Ranks", "centred", "strengths"]

STRENGTHS = tuple(2.0**power for power in range(-3, 13))  # in trials
FIRST = 5  # where the search begins: a strength of 4
ROUNDS, STEPS = 20, 3  # of centres, and of EM between them: nearly converged


@dataclass(frozen=True)
class Ranks:
    """The parameters of documents, the rank of each of their entries (as an index), and what it means."""

    names: Sequence[str]
    rank: Ints
    first_for_all: bool

    def centres(self, successes: Floats, trials: Floats, strength: float) -> Floats:
        """The centre of each entry."""
        weight = 1.0 / (trials + strength)
        yes, of = (np.bincount(self.rank, weight * part) for part in (successes, trials))
        mean = yes.sum() / max(float(of.sum()), 1e-12)
        centre = np.clip((yes + mean) / (of + 1.0), 1e-4, 1 - 1e-4)
        return np.full(len(self.rank), centre[self.rank.min()]) if self.first_for_all else centre[self.rank]


def centred(problem: Problem, strength: Mapping[str, float], ranks: Ranks, rounds: int = ROUNDS) -> Values:
    """Give the problem priors of these strengths, and good values to start from.

    The centre of a rank is the mean of its documents, each weighted by n / (n + strength): the best linear
    one for documents that differ (Bühlmann & Straub, 1970). One document's weight of the mean of all ranks
    is added, for ranks that are nearly empty.
    """
    values = {name: value.copy() for name, value in problem.start.items()}
    for _ in range(rounds):
        for _ in range(STEPS):
            _, counts = problem.penalised(values)
            values = improved(problem, values, counts)
        _, counts = problem.expect(values)
        for name in ranks.names:
            centre = ranks.centres(*counts[name], strength[name])
            problem.prior[name] = strength[name] * centre, strength[name] * (1 - centre)
    return values


def strengths(folds: Sequence[tuple[Problem, Problem]], ranks: Ranks) -> dict[str, float]:
    """The strength of each parameter that best predicts the held-out part of the folds (train, held out).

    One parameter after the other, each up or down from a strength of 4 by factors of 2 while it gets better.
    EM that stops early shrinks too, and would make weak priors look good: it goes on for as long as in a fit.
    """
    chosen = dict.fromkeys(ranks.names, STRENGTHS[FIRST])
    values = [centred(train, chosen, ranks) for train, _ in folds]
    for name in ranks.names:
        at = FIRST
        best = _score(folds, values)
        for step in (1, -1):
            while 0 <= at + step < len(STRENGTHS):
                tried = chosen | {name: STRENGTHS[at + step]}
                again = [centred(train, tried, ranks) for train, _ in folds]
                score = _score(folds, again)
                if not score > best:
                    break
                at, best, chosen, values = at + step, score, tried, again
            if at != FIRST:
                break
    return chosen


def _score(folds: Sequence[tuple[Problem, Problem]], values: Sequence[Values]) -> float:
    return sum(held.expect(found)[0] for (_, held), found in zip(folds, values, strict=True))
