"""Losses over the pairs that judges named, from what one pair costs."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankloop.losses.kernels.contract import LossResult
from rankloop.losses.kernels.lists import Lists, group_pairs

__all__ = ["judged_loss"]

Row = NDArray[np.float64]


def judged_loss(lists: Lists, cost: Callable[[Row], tuple[Row, Row, Row]]) -> LossResult:
    """The sum of `cost` over explicit pairs, each taken both ways by its probability.

    `cost` gives, for the gaps between the preferred scores and the others, the cost of a pair, the pull on
    the preferred document and the Hessian of both.
    """
    edges, better, worse, chance, heavy = group_pairs(lists)
    weight = lists.mass(np.ones(lists.n_documents))
    value, gradient, hessian = (
        np.zeros(lists.n_lists),
        np.zeros(lists.n_documents),
        np.zeros(lists.n_documents),
    )
    query = np.repeat(np.arange(lists.n_lists), np.diff(edges))
    for first, second, share in ((better, worse, chance), (worse, better, 1.0 - chance)):
        amount = heavy * share * weight[first]
        costs, pull, bend = cost(lists.scores[first] - lists.scores[second])
        value += np.bincount(query, amount * costs, lists.n_lists)
        for side, sign in ((first, -1.0), (second, 1.0)):
            gradient += sign * np.bincount(side, amount * pull, lists.n_documents)
            hessian += np.bincount(side, amount * bend, lists.n_documents)
    return LossResult(value, gradient, hessian)
