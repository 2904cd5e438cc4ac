"""ListMLE: the likelihood of the order of the labels."""

from dataclasses import dataclass

import numpy as np

from rankloop._arrays import Ints
from rankloop.lists import rank_lists
from rankloop.losses.kernels.draws import TIE_BITS, uniform_draws
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import at_least_one, choice
from rankloop.losses.kernels.plackett_luce import plackett_luce
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["ListMLE", "label_order"]


@dataclass(frozen=True)
class ListMLE(Loss):
    r"""Minus the log-likelihood, under Plackett-Luce, of the order of the labels (Xia et al., 2008).

    .. math:: C = \sum_{r=1}^{n} w_{\pi(r)} \Big( \log \sum_{k \ge r} e^{s_{\pi(k)}} - s_{\pi(r)} \Big)

    Equal labels have no order. `ties="average"` takes the mean over their orders: over all of them for up to
    eight documents of one label, for more over `samples` orders drawn from `seed`, a mean without bias
    (`rankloop.losses.redraw` gives other draws). `ties="random"` takes one order drawn from `seed`. On CUDA
    `ties="average"` runs on the CPU copy of the batch.

    >>> ListMLE()([0.0, 0.0, 0.0], [2, 1, 0], [0, 3]).value.round(4)  # log 3! = log 6
    array([1.7918])
    """

    ties: str = "average"
    samples: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        choice(self, "ties", self.ties, ("average", "random"))
        at_least_one(self, samples=self.samples)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        order, blocks = label_order(lists, self.ties, self.seed)
        return plackett_luce(lists, order, blocks, np.ones(lists.n_documents), self.samples)


def label_order(lists: LossLists, ties: str, seed: int) -> tuple[Ints, Ints]:
    """The rows by falling label, equal labels shuffled; and which ranks are tied: none where not averaged."""
    labels = lists.labels.astype(np.float64)
    draws = np.floor(uniform_draws(seed, lists.n_documents) * 2.0**TIE_BITS)
    shuffled = np.argsort(draws, kind="stable")
    query = lists.spread(np.arange(lists.n_lists))
    shuffled = shuffled[np.argsort(query[shuffled], kind="stable")]
    order = shuffled[rank_lists(labels[shuffled], lists.offsets)]
    if ties == "random":
        return order, np.arange(lists.n_documents)
    return order, np.cumsum(np.diff(labels[order], prepend=-1.0) != 0)
