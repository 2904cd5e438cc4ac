"""Triplet margin: each document against one document of a lower label."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import kernel, over_lists
from rankloop.lists import list_sums, rank_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import choice, positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["Triplet"]


@dataclass(frozen=True)
class Triplet(Loss):
    r"""Margin to one negative (Schroff et al., 2015), on the scores of one query's list.

    .. math:: C = \sum_i w_i \max\big(0, m - s_i + s_{j(i)}\big)

    over the documents with at least one lower label in their list. The negative j(i) is the highest of the
    lower labels (`negative="hardest"`), or the highest of those that score below i, and the lowest of all
    where none does (`"semihard"`). While a ranker still separates documents badly, the hardest negative
    scores above most positives and equal scores give the lowest loss: networks then collapse to a constant,
    as the paper warns. Semi-hard negatives avoid this; `Hinge` takes all negatives. Hessian: the weight of a
    document's active triplets, as for `Hinge`.

    >>> Triplet()([0.2, 0.3, 0.1], [1, 0, 0], [0, 3]).gradient
    array([-1.,  1.,  0.])
    >>> Triplet(negative="semihard")([0.2, 0.3, 0.1], [1, 0, 0], [0, 3]).gradient
    array([-1.,  0.,  1.])
    """

    margin: float = 1.0
    negative: str = "hardest"

    def __post_init__(self) -> None:
        positive(self, margin=self.margin)
        choice(self, "negative", self.negative, ("hardest", "semihard"))

    @property
    def smooth(self) -> bool:
        return False

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        order = rank_lists(lists.labels.astype(np.float64), lists.offsets)
        rival = np.full(lists.n_documents, -1)
        find = _semihard if self.negative == "semihard" else _hardest

        def work(first: int, last: int) -> None:
            find(first, last, lists.scores, lists.labels, lists.offsets, order, rival)

        over_lists(work, lists.offsets)
        short = np.where(rival >= 0, self.margin - lists.scores + lists.scores[rival], 0.0)
        push = lists.item_weight * (short > 0.0)
        pushed = np.bincount(rival[rival >= 0], push[rival >= 0], lists.n_documents)
        return LossResult(list_sums(push * short, lists.offsets), pushed - push, pushed + push)


@kernel
def _hardest(
    first: int, last: int, scores: Floats, labels: Singles, offsets: Ints, order: Ints, rival: Ints
) -> None:
    for q in range(first, last):
        hardest, highest = -1, -1  # among lower labels, and among all met so far
        for k in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            i = order[k]
            if k + 1 < offsets[q + 1] and labels[i] != labels[order[k + 1]]:
                hardest = highest
            rival[i] = hardest
            if highest < 0 or scores[i] > scores[highest]:
                highest = i


@kernel
def _semihard(
    first: int, last: int, scores: Floats, labels: Singles, offsets: Ints, order: Ints, rival: Ints
) -> None:
    for q in range(first, last):
        lower, count = (np.empty(offsets[q + 1] - offsets[q], np.int64), 0)  # lower labels, by rising score
        end = offsets[q + 1]  # where the block of the current label ends
        for k in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            i = order[k]
            if k + 1 < end and labels[i] != labels[order[k + 1]]:
                for m in range(k + 1, end):
                    at = count
                    while at > 0 and scores[lower[at - 1]] > scores[order[m]]:
                        lower[at] = lower[at - 1]
                        at -= 1
                    lower[at] = order[m]
                    count += 1
                end = k + 1
            if count > 0:
                low, high = 0, count  # how many of them score below i
                while low < high:
                    middle = (low + high) // 2
                    if scores[lower[middle]] < scores[i]:
                        low = middle + 1
                    else:
                        high = middle
                rival[i] = lower[max(low - 1, 0)]
