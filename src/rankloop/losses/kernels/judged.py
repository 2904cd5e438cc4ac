"""Losses over explicit pairs, from the cost of one pair."""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Floats
from rankloop.data import Pairs
from rankloop.losses.kernels.lists import LossLists, group_pairs
from rankloop.losses.loss_result import LossResult

__all__ = ["judged_loss"]


def judged_loss(
    lists: LossLists, pairs: Pairs, cost: Callable[[Floats], tuple[Floats, Floats, Floats]]
) -> LossResult:
    """The sum of `cost` over explicit pairs, each taken both ways by its probability.

    `cost` gives, for the gaps between the preferred scores and the others, the cost of a pair, the
    derivative with respect to the preferred document (negated) and the Hessian of both.
    """
    edges, better, worse, chance, heavy = group_pairs(lists, pairs)
    weight = lists.item_weight
    made = LossResult.zeros(lists.n_lists, lists.n_documents)
    query = np.repeat(np.arange(lists.n_lists), np.diff(edges))
    for first, second, share in ((better, worse, chance), (worse, better, 1.0 - chance)):
        amount = heavy * share * weight[first]
        costs, pull, hess = cost(lists.scores[first] - lists.scores[second])
        made.value[:] += np.bincount(query, amount * costs, lists.n_lists)
        for side, sign in ((first, -1.0), (second, 1.0)):
            made.gradient[:] += sign * np.bincount(side, amount * pull, lists.n_documents)
            made.hessian[:] += np.bincount(side, amount * hess, lists.n_documents)
    return made
