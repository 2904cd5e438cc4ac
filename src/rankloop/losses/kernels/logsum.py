"""Running sums of exponentials without overflow or underflow."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import kernel, over_lists
from rankloop.lists import rank_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.math import inline
from rankloop.losses.loss_result import LossResult

__all__ = ["NOTHING", "ByLabel", "add_logs", "lower_sums", "over_labels"]

NOTHING = -1e300  # the logarithm of an empty sum


class ByLabel(NamedTuple):
    """What a kernel reads and writes that goes through a list from the highest label down."""

    scores: Floats
    labels: Singles
    offsets: Ints
    weight: Floats
    order: Ints
    value: Floats
    gradient: Floats
    hessian: Floats


def over_labels(
    run: Callable[[int, int, ByLabel], None], lists: LossLists, scores: Floats, weight: Floats
) -> LossResult:
    """Value, gradient and Hessian as a kernel makes them that goes through labels from the highest down."""
    made = LossResult.zeros(lists.n_lists, lists.n_documents)
    order = rank_lists(lists.labels.astype(np.float64), lists.offsets)
    room = ByLabel(scores, lists.labels, lists.offsets, weight, order, *made)

    def work(first: int, last: int) -> None:
        run(first, last, room)

    over_lists(work, lists.offsets)
    return made


@inline
def add_logs(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    high, low = max(a, b), min(a, b)
    return high + np.log1p(np.exp(low - high)) if low > high - 700.0 else high


@kernel
def lower_sums(scores: Floats, labels: Singles, order: Ints, start: int, stop: int) -> Floats:
    """By rank in `order` (falling label): log of the sum of exp(score) over all lower labels."""
    below = np.empty(stop - start)
    total, lower = NOTHING, NOTHING
    for k in range(stop - 1, start - 1, -1):
        if k + 1 < stop and labels[order[k]] != labels[order[k + 1]]:
            lower = total
        below[k - start] = lower
        total = add_logs(total, scores[order[k]])
    return below
