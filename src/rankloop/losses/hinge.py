"""The pairwise hinge, in O(n log n) per list."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankloop._arrays import Floats
from rankloop.lists import list_sums
from rankloop.losses.kernels.judged import judged_loss
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.options import positive
from rankloop.losses.kernels.pair_sums import levels, order_of, pair_sums
from rankloop.losses.loss import Loss
from rankloop.losses.loss_result import LossResult

__all__ = ["Hinge"]


@dataclass(frozen=True)
class Hinge(Loss):
    r"""The loss of RankSVM (Joachims, 2002): pairs that are not in order by a margin.

    .. math:: C = \sum_{l_i > l_j} \max(0, m - (s_i - s_j))^p

    with p = 1, or 2 where `squared`. The sums over pairs come from one sweep over the sorted scores with a
    tree over the labels (Joachims, 2006; Lee & Lin, 2014), never from the pairs themselves. Hessian: the
    hinge is straight, so it takes the number of pairs inside the margin, the Hessian of half its square.

    >>> Hinge()([0.2, 0.3, 0.1, 0.1, 0.1], [1, 0, 0, 0, 0], [0, 5]).value.round(4)
    array([3.8])
    """

    margin: float = 1.0
    squared: bool = False

    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self, margin=self.margin)

    @property
    def smooth(self) -> bool:
        return self.squared

    def _compute(self, lists: LossLists, exact: bool) -> LossResult:
        if lists.pairs is not None:
            return judged_loss(lists, lists.pairs, self._cost)
        unit = lists.scores / self.margin
        lengths = np.diff(lists.offsets)
        middle = np.repeat(list_sums(unit, lists.offsets) / np.maximum(lengths, 1), lengths)
        near = unit - middle  # centred, so that a shift of all scores costs no precision
        weight = lists.item_weight
        level = levels(lists.labels, lists.offsets)
        order = order_of(unit, lists.offsets)
        sums = pair_sums(unit, near, level, level, weight, lists.offsets, order)
        inside = sums.weight + weight * sums.count
        short = weight * (sums.count * (1.0 - near) + sums.total)
        if not self.squared:
            value = self.margin * list_sums(short, lists.offsets)
            return LossResult(value, sums.weight - weight * sums.count, inside)
        lambda_ = 2.0 * (sums.weight * (1.0 + near) - sums.weighted - short)
        # The sum of squares follows from the sum of hinges: (1 - z)^2 = (1 - z) - z (1 - z).
        value = self.margin**2 * list_sums(short + 0.5 * lambda_ * near, lists.offsets)
        return LossResult(value, self.margin * lambda_, 2.0 * inside)

    def _cost(self, gap: Floats) -> tuple[Floats, Floats, Floats]:
        short = np.maximum(0.0, self.margin - gap)
        inside = (short > 0.0).astype(np.float64)
        return (short**2, 2.0 * short, 2.0 * inside) if self.squared else (short, inside, inside)
