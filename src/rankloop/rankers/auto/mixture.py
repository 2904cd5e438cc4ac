"""The models that were tried, made into a mixture: bags of the best where there is time, and weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.data import RankingDataset
from rankloop.rankers.auto.bags import Bag, Folds, bags, folds_for, refitted, repeated
from rankloop.rankers.auto.clock import Clock
from rankloop.rankers.auto.costs import MOST
from rankloop.rankers.auto.division import Division
from rankloop.rankers.auto.search import Setting, Tried
from rankloop.rankers.auto.stack import Stack, stack
from rankloop.rankers.base.objective import Objective

__all__ = ["LEAST", "Mixture", "mixture"]

ALIKE = 2  # members of one family at most
AVERAGED = 10  # models, where there is no time for bags
LEAST = 1e-3  # weight of a model that is kept
WEIGHING = 0.03  # of the time, kept for the choice of weights until it is known how long that takes


@dataclass(frozen=True, eq=False)
class Mixture:
    """Bags, what each counts, and scores of queries by models that did not see them (a column per bag).

    `queries` are the numbers of these queries in all data, or None where the bags are models that were tried.
    """

    bags: list[Bag]
    stack: Stack
    about: str
    data: RankingDataset
    scores: Floats
    queries: Ints | None


def mixture(tried: Sequence[Tried], over: Division, clock: Clock, setting: Setting) -> Mixture:
    """Bags of the best, each with time for several folds; or where there is none, the models as they are."""
    clock.keep(WEIGHING * clock.seconds)
    some = _chosen(tried, MOST * setting.members)
    explored = over.fitted.n_documents if over.sampled < 1 else None
    parts = folds_for(some, over.everything, over.held, explored, clock, setting.folds, setting.seed)
    again = parts.used > parts.free and not clock.interrupted
    made = bags(some, parts, explored, clock, setting) if again else []
    if not made:
        best = _chosen(tried, AVERAGED)
        made = [Bag(one.candidate, [one.ranker], one.scores, one.seconds) for one in best]
        scores = np.column_stack([bag.scores for bag in made])
        found = _weighted(scores, over.compared, clock, setting)
        many = f"the best {len(best)} are used as they are" if len(best) > 1 else "the best is used as it is"
        about = f"{many}, as {'it was interrupted' if clock.interrupted else 'there was no time for folds'}"
        if explored is None:
            made, whole = refitted(made, found.weights, over.everything, over.held, clock, setting)
            about += f"; {whole} of them {_were(whole)} also fitted on all queries" if whole else ""
        return Mixture(made, found, about, over.compared, scores, None)
    again_on = f"fitted again on {parts.used} of {parts.count} folds of all queries"
    about = f"{len(made)} of the best {_were(len(made))} {again_on}"
    start = clock.spent
    scores, seen = _unseen(made, parts)
    found = _weighted(scores, seen, clock, setting)
    clock.keep(clock.spent - start)  # as long again at the end, as fewer models are weighted then
    alone = np.array([Objective.of(setting.metric, seen)(one) for one in scores.T])
    order = np.lexsort((-np.nan_to_num(alone), -found.weights))[: setting.members]
    made = [made[at] for at in order if found.weights[at] > LEAST]
    made, done = repeated(made, parts, clock, setting.divisions, setting)
    if done > 1:
        about += f", those that count most in {done} divisions into folds"
    scores, seen = _unseen(made, parts)
    return Mixture(made, _weighted(scores, seen, clock, setting), about, seen, scores, parts.left_out)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _unseen(made: Sequence[Bag], parts: Folds) -> tuple[Floats, RankingDataset]:
    seen, scores = parts.unseen([bag.scores for bag in made])
    return scores, seen


def _weighted(scores: Floats, data: RankingDataset, clock: Clock, setting: Setting) -> Stack:
    """The weights of the stack; equal ones where it is interrupted."""
    try:
        return stack(scores, data, setting.metric, seed=setting.seed)
    except KeyboardInterrupt:
        clock.interrupt()
        models = scores.shape[1]
        return Stack(
            np.full(models, 1 / models), "equal weights: it was interrupted while weights were compared"
        )


def _chosen(tried: Sequence[Tried], members: int) -> list[Tried]:
    """The best by the held-out queries, few of one family and none that is clearly behind."""
    taken: list[Tried] = []
    for one in tried:
        alike = sum(one.candidate.family == other.candidate.family for other in taken)
        if len(taken) < members and alike < ALIKE and not one.behind(tried[0]):
            taken.append(one)
    return taken
