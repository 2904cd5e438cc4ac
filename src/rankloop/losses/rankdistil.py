"""RankDistil: the likelihood of a teacher's top documents."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.lists import rank_lists, ranks
from rankloop.losses.kernels.draws import gumbel_draws
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import at_least_one, positive
from rankloop.losses.kernels.plackett_luce import plackett_luce
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["RankDistil"]


@dataclass(frozen=True)
class RankDistil(Loss):
    r"""Likelihood of the teacher's top k, over orders drawn from the teacher (Reddi et al., 2021).

    .. math:: C = \frac{1}{S} \sum_{\pi \sim \mathrm{PL}(t/\tau)} \sum_{r \le k} w_{\pi(r)} \Big(
        \log \sum_{m \ge r} e^{s_{\pi(m)}} - s_{\pi(r)} \Big)

    The labels of the call are the teacher's scores t, of any sign. The draws follow from `seed`.

    >>> RankDistil(k=1, samples=1, temperature=0.01)([0.0, 0.0], [-1.0, 1.0], [0, 2]).gradient
    array([ 0.5, -0.5])
    """

    k: int = 10
    samples: int = 8
    temperature: float = 1.0
    seed: int = 0

    signed_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least_one(self, k=self.k, samples=self.samples)
        positive(self, temperature=self.temperature)

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        stage = (ranks(lists.offsets) <= self.k) / self.samples
        untied = np.arange(lists.n_documents)
        made = LossResult.zeros(lists.n_lists, lists.n_documents)
        teacher = lists.labels.astype(np.float64) / self.temperature
        for sample in range(self.samples):
            drawn = teacher + gumbel_draws(self.seed, lists.n_documents, sample)
            part = plackett_luce(lists, rank_lists(drawn, lists.offsets), untied, stage)
            for total, one in zip(made, part, strict=True):
                total += one
        return made
