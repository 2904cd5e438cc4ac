"""The lambdas of a loss: where it moves the documents of a list."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints, Singles
from rankloop.data import Pairs
from rankloop.losses import Loss, loss

__all__ = ["Lambdas", "lambdas"]


@dataclass(frozen=True, eq=False)
class Lambdas:
    """Where a loss moves each document: `push` > 0 is up. The data of a lambda plot.

    `push` is the negative gradient (the lambda of LambdaRank); `step` is push over Hessian, the change of
    score by a tree in which the document is alone in its leaf. One entry per document.
    """

    push: Floats
    step: Floats
    rank: Ints
    scores: Floats
    labels: Singles
    offsets: Ints
    value: Floats

    def of(self, index: int) -> dict[str, list[float]]:
        """One list in the order of its ranking, as plain columns."""
        a, b = self.offsets[index], self.offsets[index + 1]
        order = a + np.argsort(self.rank[a:b])
        names = ("rank", "scores", "labels", "push", "step")
        return {name: getattr(self, name)[order].tolist() for name in names}


def lambdas(
    which: str | Loss,
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    pairs: Pairs | None = None,
) -> Lambdas:
    """The lambdas of lists under a loss, and the Newton step of each document.

    Under a pairwise loss, explicit `pairs` replace those of the labels.

    >>> found = lambdas("lambdarank", [0.5, 0.3, 0.1], [0, 1, 2])
    >>> (found.push > 0).tolist(), found.rank.tolist()
    ([False, True, True], [1, 2, 3])
    >>> judged = Pairs(better=[2, 2], worse=[0, 1], probability=[1.0, 0.5])  # judges agree on the first only
    >>> lambdas("ranknet", [0.5, 0.5, 0.5], [0, 0, 0], pairs=judged).push
    array([-0.5, -0. ,  0.5])
    """
    values = np.asarray(scores, np.float64)
    grades = np.asarray(labels, np.float32)
    lists = np.asarray([0, len(values)] if offsets is None else offsets, np.int64)
    result = loss(which)(values, grades, lists, weight=weight, query_weight=query_weight, pairs=pairs)
    query = np.repeat(np.arange(len(lists) - 1), np.diff(lists))
    order = np.lexsort((-values, query))
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values)) - lists[query] + 1
    flat = result.hessian <= 0
    step = np.where(flat, 0.0, -result.gradient / np.where(flat, 1.0, result.hessian))
    return Lambdas(-result.gradient, step, rank, values, grades, lists, result.value)
