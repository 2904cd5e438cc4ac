"""Empirical Bayes: how strongly the parameters of documents are shrunk, and to what.

The prior of a parameter of documents is a Beta distribution, with one centre for the documents of a rank
and one strength, in trials. Centres follow from the expected counts, strengths from pages that were held out.
Where a model says how often each rank is examined, relative to the first, documents of the first rank give
the centre for all: they are the ones whose examination is known. Around it, centres move with the query and
with the document as far as held-out pages confirm it (`kin.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Array, Floats, Ints
from rankloop.clicks.fitting.fit import Problem, Values, improved
from rankloop.clicks.fitting.kin import Centres, updated
from rankloop.clicks.fitting.parameters import ByPair

__all__ = ["Ranks", "Shrunk", "centred", "strengths", "unseen"]

STRENGTHS = tuple(2.0**power for power in range(-3, 13))  # in trials
FIRST = 6  # where the search begins: a strength of 8
KINSHIP = (np.inf, 16.0, 4.0, 1.0)  # the weight of a factor of 1, in successes; inf: no factors
WIDTH = 3.0  # of the prior over strengths, in powers of 2
ROUNDS, STEPS = 20, 3  # of centres, and of EM between them: nearly converged
AGAIN = 6  # rounds from a fit whose strengths are near


@dataclass(frozen=True)
class Ranks:
    """The parameters of documents, the rank of each of their entries (as an index), and what it means.

    `groups` has the query and the document of each entry, as codes.
    """

    names: Sequence[str]
    rank: Ints
    first_for_all: bool
    groups: Mapping[str, Array] = field(default_factory=dict)

    def centres(self, successes: Floats, trials: Floats, strength: float) -> Floats:
        """The centre of each entry by its rank."""
        weight = 1.0 / (trials + strength)
        yes, of = (np.bincount(self.rank, weight * part) for part in (successes, trials))
        mean = yes.sum() / max(float(of.sum()), 1e-12)
        centre = np.clip((yes + mean) / (of + 1.0), 1e-4, 1 - 1e-4)
        return np.full(len(self.rank), centre[self.rank.min()]) if self.first_for_all else centre[self.rank]

    def even(self) -> dict[str, Floats]:
        """Factors of 1."""
        return {name: np.ones(int(code.max()) + 1) for name, code in self.groups.items()}


class Shrunk(NamedTuple):
    values: Values
    centres: dict[str, Centres]


def centred(
    problem: Problem,
    strength: Mapping[str, float],
    ranks: Ranks,
    rounds: int = ROUNDS,
    begin: Shrunk | None = None,
) -> Shrunk:
    """Give the problem priors of these strengths; good values to start from, and the centres.

    The centre of a rank is the mean of its documents, each weighted by n / (n + strength): the best linear
    one for documents that differ (Bühlmann & Straub, 1970). One document's weight of the mean of all ranks
    is added, for ranks that are nearly empty. Queries and documents are weighted in the same way.
    """
    values = {name: value.copy() for name, value in problem.start.items()} if begin is None else begin.values
    centres = {} if begin is None else dict(begin.centres)
    for _ in range(rounds):
        for _ in range(STEPS):
            _, counts = problem.expect(values)
            values = improved(problem, values, problem.with_prior(counts))
        _, counts = problem.expect(values)
        for name in ranks.names:
            own = strength[name]
            yes, trials = counts[name]
            known = centres[name].odds if name in centres else ranks.even()
            weight = own / (trials + own)
            at = Centres(ranks.centres(yes, trials, own), known)
            centres[name] = updated(at, ranks.groups, strength, (weight * yes, weight * trials))
            centre = centres[name].of(ranks.groups)
            problem.prior[name] = own * centre, own * (1 - centre)
    return Shrunk(values, centres)


def strengths(folds: Sequence[tuple[Problem, Problem]], ranks: Ranks) -> dict[str, float]:
    """The strengths that best predict the held-out part of the folds (train, held out).

    One after the other, each up or down while it gets better: those of parameters by factors of 2 from 8,
    the weights of queries and of documents from infinity, and those of parameters again.
    EM that stops early shrinks too, and would make weak priors look good: it goes on for as long as in a fit.
    """
    grids = dict.fromkeys(ranks.names, STRENGTHS) | dict.fromkeys(ranks.groups, KINSHIP)
    chosen = dict.fromkeys(ranks.names, STRENGTHS[FIRST]) | dict.fromkeys(ranks.groups, np.inf)
    found = [centred(train, chosen, ranks) for train, _ in folds]
    best = _score(folds, found) + _prior(chosen, ranks)
    for key in (*ranks.names, *ranks.groups, *ranks.names):
        grid = grids[key]
        begin = at = grid.index(chosen[key])
        for step in (1, -1):
            while 0 <= at + step < len(grid):
                tried = chosen | {key: grid[at + step]}
                again = [
                    centred(train, tried, ranks, rounds=AGAIN, begin=old)
                    for (train, _), old in zip(folds, found, strict=True)
                ]
                score = _score(folds, again) + _prior(tried, ranks)
                if not score > best:
                    break
                at, best, chosen, found = at + step, score, tried, again
            if at != begin:
                break
    return chosen


def unseen(table: ByPair, centres: Centres, rank: Ints) -> ByPair:
    """The table with what it says of pairs that it does not have."""
    mean = float(np.mean(centres.rank))
    by_rank = None
    if np.ptp(centres.rank) > 0:
        by_rank = np.full(int(rank.max()) + 1, mean)
        by_rank[rank] = centres.rank
    query, document = (centres.odds.get(name) for name in ("query", "document"))
    return replace(table, default=mean, unseen=by_rank, query_odds=query, document_odds=document)


def _prior(strength: Mapping[str, float], ranks: Ranks) -> float:
    """The logarithm of a wide prior over strengths: a few held-out clicks should not choose an extreme."""
    away = [np.log2(strength[name] / STRENGTHS[FIRST]) for name in ranks.names]
    return -0.5 * float(np.sum(np.square(away))) / WIDTH**2


def _score(folds: Sequence[tuple[Problem, Problem]], found: Sequence[Shrunk]) -> float:
    return sum(held.expect(one.values)[0] for (_, held), one in zip(folds, found, strict=True))
