"""The pairwise hinge, in O(n log n) a list."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, over_lists
from rankloop.losses._contract import Loss, LossResult
from rankloop.losses._input import Lists
from rankloop.losses._judged import judged_loss
from rankloop.losses._options import positive
from rankloop.losses._order import rank_lists

__all__ = ["Hinge"]

Row = NDArray[np.float64]


@dataclass(frozen=True)
class Hinge(Loss):
    r"""What RankSVM descends (Joachims, 2002): pairs not in order by a margin.

    .. math:: C = \sum_{l_i > l_j} \max(0, m - (s_i - s_j))^p

    with p = 1, or 2 where `squared`. The sums over pairs come from one sweep over the sorted scores with a
    tree over the labels (Joachims, 2006; Lee & Lin, 2014), never from the pairs themselves. Curvature: the
    hinge is straight, so it takes the number of pairs inside the margin, the curvature of half its square.

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

    def _compute(self, lists: Lists, exact: bool) -> LossResult:
        if lists.pairs is not None:
            return judged_loss(lists, self._cost)
        value, gradient, curvature = (
            np.zeros(lists.n_lists),
            np.zeros(lists.n_documents),
            np.zeros(lists.n_documents),
        )
        order = rank_lists(lists.scores, lists.offsets)
        by_label = rank_lists(lists.labels.astype(np.float64), lists.offsets)
        weight = lists.mass(np.ones(lists.n_documents))

        def work(first: int, last: int) -> None:
            _sweep_lists(
                first, last, lists.scores, lists.labels, lists.offsets, weight, order, by_label,
                self.margin, self.squared, value, gradient, curvature,
            )  # fmt: skip

        over_lists(work, lists.offsets)
        return LossResult(value, gradient, curvature)

    def _cost(self, gap: Row) -> tuple[Row, Row, Row]:
        short = np.maximum(0.0, self.margin - gap)
        inside = (short > 0.0).astype(np.float64)
        return (short**2, 2.0 * short, 2.0 * inside) if self.squared else (short, inside, inside)


@kernel
def _sweep_lists(
    first: int,
    last: int,
    scores: Row,
    labels: NDArray[np.float32],
    offsets: NDArray[np.int64],
    weight: Row,
    order: NDArray[np.int64],
    by_label: NDArray[np.int64],
    margin: float,
    squared: bool,
    value: Row,
    gradient: Row,
    curvature: Row,
) -> None:
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        if n < 2:
            continue
        grade, tree = np.empty(n, np.int64), np.zeros((3, n + 1))
        code = 0  # 1 for the highest label of the list, 2 for the next, ...
        for k in range(start, stop):
            if k == start or labels[by_label[k]] != labels[by_label[k - 1]]:
                code += 1
            grade[by_label[k] - start] = code
        middle = scores[order[start + n // 2]]
        # From the top: what lies inside the margin of i and has a lower label (a higher code).
        added = start
        for k in range(start, stop):
            i = order[k]
            while added < stop and scores[order[added]] > scores[i] - margin:
                j = order[added]
                s = scores[j] - middle
                _add(tree, n + 1 - grade[j - start], 1.0, s, s * s)
                added += 1
            count, total, square = _until(tree, n - grade[i - start])
            short = margin - (scores[i] - middle)
            if squared:
                value[q] += weight[i] * (short * short * count + 2.0 * short * total + square)
                gradient[i] -= 2.0 * weight[i] * (short * count + total)
                curvature[i] += 2.0 * weight[i] * count
            else:
                value[q] += weight[i] * (short * count + total)
                gradient[i] -= weight[i] * count
                curvature[i] += weight[i] * count
        # From the bottom: who has a higher label (a lower code) and reaches no further than the margin.
        tree[:] = 0.0
        added = stop - 1
        for k in range(stop - 1, start - 1, -1):
            j = order[k]
            while added >= start and scores[order[added]] < scores[j] + margin:
                i = order[added]
                _add(tree, grade[i - start], weight[i], weight[i] * (scores[i] - middle), 0.0)
                added -= 1
            count, total, _ = _until(tree, grade[j - start] - 1)
            if squared:
                gradient[j] += 2.0 * (count * (margin + scores[j] - middle) - total)
                curvature[j] += 2.0 * count
            else:
                gradient[j] += count
                curvature[j] += count


@kernel
def _add(tree: Row, at: int, one: float, two: float, three: float) -> None:
    while at < tree.shape[1]:
        tree[0, at] += one
        tree[1, at] += two
        tree[2, at] += three
        at += at & -at


@kernel
def _until(tree: Row, at: int) -> tuple[float, float, float]:
    one, two, three = 0.0, 0.0, 0.0
    while at > 0:
        one += tree[0, at]
        two += tree[1, at]
        three += tree[2, at]
        at -= at & -at
    return one, two, three
