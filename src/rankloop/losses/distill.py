"""Distillation: a teacher's scores as soft labels for any loss."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop.losses.kernels.cross_entropy import softmax
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import positive
from rankloop.losses.loss import Loss
from rankloop.losses.loss import loss as find
from rankloop.losses.loss_result import LossResult

__all__ = ["Distill"]


@dataclass(frozen=True)
class Distill(Loss):
    r"""Any loss with the softmax of a teacher's scores for labels (Hinton et al., 2015).

    .. math:: C = C_0(s, p), \quad p = \mathrm{softmax}(t / \tau)

    The labels of the call are the teacher's scores t, of any sign.

    >>> Distill()([0.0, 0.0], [-1.0, 1.0], [0, 2]).gradient.round(4)
    array([ 0.3808, -0.3808])
    """

    loss: Loss | str = "softmax"
    temperature: float = 1.0

    signed_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", find(self.loss))
        positive(self, temperature=self.temperature)

    @property
    def smooth(self) -> bool:
        return find(self.loss).smooth

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        soft = softmax(lists.labels.astype(np.float64) / self.temperature, lists.offsets)
        return find(self.loss)._compute(lists.replace(labels=soft.astype(np.float32)), exact)
