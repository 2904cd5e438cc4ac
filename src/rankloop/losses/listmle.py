"""ListMLE: the likelihood of the order of the labels."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Ints
from rankloop.lists import rank_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import choice
from rankloop.losses.kernels.plackett_luce import plackett_luce
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["ListMLE", "label_order"]


@dataclass(frozen=True)
class ListMLE(Loss):
    r"""Minus the log-likelihood, under Plackett-Luce, of the order of the labels (Xia et al., 2008).

    .. math:: C = \sum_{r=1}^{n} w_{\pi(r)} \Big( \log \sum_{k \ge r} e^{s_{\pi(k)}} - s_{\pi(r)} \Big)

    Equal labels have no order: `ties="average"` takes the mean over their orders by Efron's approximation
    (exact for pairs of equal scores), `ties="random"` one order drawn from `seed` (`rankloop.losses.redraw`
    gives the next).

    >>> ListMLE()([0.0, 0.0, 0.0], [2, 1, 0], [0, 3]).value.round(4)  # log 3! = log 6
    array([1.7918])
    """

    ties: str = "average"
    seed: int = 0

    def __post_init__(self) -> None:
        choice(self, "ties", self.ties, ("average", "random"))

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        order, blocks = label_order(lists, self.ties, self.seed)
        return plackett_luce(lists, order, blocks, np.ones(lists.n_documents))


def label_order(lists: LossLists, ties: str, seed: int) -> tuple[Ints, Ints]:
    """The rows by falling label, and which ranks are tied: none where ties are broken at random."""
    labels = lists.labels.astype(np.float64)
    if ties == "random":
        shuffled = np.argsort(np.random.default_rng(seed).random(lists.n_documents), kind="stable")
        query = lists.spread(np.arange(lists.n_lists))
        shuffled = shuffled[np.argsort(query[shuffled], kind="stable")]
        order = shuffled[rank_lists(labels[shuffled], lists.offsets)]
        return order, np.arange(lists.n_documents)
    order = rank_lists(labels, lists.offsets)
    changes = np.diff(labels[order], prepend=-1.0) != 0
    return order, np.cumsum(changes)
