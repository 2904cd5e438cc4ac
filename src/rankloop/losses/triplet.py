"""Triplet margin: each document against the hardest of those it should beat."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, over_lists
from rankloop.losses._contract import Loss, LossResult
from rankloop.losses._input import Lists
from rankloop.losses._options import positive
from rankloop.losses._order import rank_lists

__all__ = ["Triplet"]

Row = NDArray[np.float64]


@dataclass(frozen=True)
class Triplet(Loss):
    r"""Margin to the hardest negative (Schroff et al., 2015), on the scores of one query's list.

    .. math:: C = \sum_i w_i \max\big(0, m - s_i + \max_{l_j < l_i} s_j\big)

    over the documents with at least one lower label in their list. `Hinge` takes all negatives instead.
    Curvature: the number of active triplets of a document, as for `Hinge`.

    >>> Triplet()([0.2, 0.3, 0.1], [1, 0, 0], [0, 3]).gradient
    array([-1.,  1.,  0.])
    """

    margin: float = 1.0

    def __post_init__(self) -> None:
        positive(self, margin=self.margin)

    @property
    def smooth(self) -> bool:
        return False

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        value, gradient, curvature = (
            np.zeros(lists.n_lists),
            np.zeros(lists.n_documents),
            np.zeros(lists.n_documents),
        )
        order = rank_lists(lists.labels.astype(np.float64), lists.offsets)
        weight = lists.mass(np.ones(lists.n_documents))

        def work(first: int, last: int) -> None:
            _triplet_lists(
                first, last, lists.scores, lists.labels, lists.offsets, weight, order, self.margin,
                value, gradient, curvature,
            )  # fmt: skip

        over_lists(work, lists.offsets)
        return LossResult(value, gradient, curvature)


@kernel
def _triplet_lists(
    first: int,
    last: int,
    scores: Row,
    labels: NDArray[np.float32],
    offsets: NDArray[np.int64],
    weight: Row,
    order: NDArray[np.int64],
    margin: float,
    value: Row,
    gradient: Row,
    curvature: Row,
) -> None:
    for q in range(first, last):
        hardest, highest = -1, -1  # among lower labels, and among all met so far
        for k in range(offsets[q + 1] - 1, offsets[q] - 1, -1):
            i = order[k]
            if k + 1 < offsets[q + 1] and labels[i] != labels[order[k + 1]]:
                hardest = highest
            if hardest >= 0:
                short = margin - scores[i] + scores[hardest]
                if short > 0.0:
                    value[q] += weight[i] * short
                    gradient[i] -= weight[i]
                    gradient[hardest] += weight[i]
                    curvature[i] += weight[i]
                    curvature[hardest] += weight[i]
            if highest < 0 or scores[i] > scores[highest]:
                highest = i
