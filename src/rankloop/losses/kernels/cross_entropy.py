"""Cross-entropy between a target mass and the softmax of the scores: the core of several listwise losses."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel, over_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.loss_result import LossResult

__all__ = ["cross_entropy", "softmax"]


def cross_entropy(lists: LossLists, target: Floats) -> LossResult:
    r"""Value :math:`-\sum_i t_i \log q_i` with q the softmax of the scores, gradient and exact Hessian."""
    value, chance = np.zeros(lists.n_lists), np.empty(lists.n_documents)
    total = np.empty(lists.n_documents)

    def work(first: int, last: int) -> None:
        _entropy_lists(first, last, lists.scores, target, lists.offsets, value, chance, total)

    over_lists(work, lists.offsets)
    return LossResult(value, total * chance - target, total * chance * (1.0 - chance))


def softmax(scores: Floats, offsets: Ints) -> Floats:
    """The softmax of each list.

    >>> softmax(np.array([0.0, 0.0, 1e4]), np.array([0, 2, 3]))
    array([0.5, 0.5, 1. ])
    """
    chance, unused = np.empty(len(scores)), np.empty(len(scores))
    _entropy_lists(
        0,
        len(offsets) - 1,
        scores,
        np.zeros(len(scores)),
        offsets,
        np.zeros(len(offsets) - 1),
        chance,
        unused,
    )
    return chance


@kernel
def _entropy_lists(
    first: int,
    last: int,
    scores: Floats,
    target: Floats,
    offsets: Ints,
    value: Floats,
    chance: Floats,
    total: Floats,
) -> None:
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        high, mass, summed = -np.inf, 0.0, 0.0
        for i in range(start, stop):
            high = max(high, scores[i])
        for i in range(start, stop):
            chance[i] = np.exp(scores[i] - high)
            summed += chance[i]
            mass += target[i]
        level = high + np.log(summed)
        for i in range(start, stop):
            value[q] += target[i] * (level - scores[i])
            chance[i] /= summed
            total[i] = mass
