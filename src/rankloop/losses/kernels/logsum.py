"""Running sums of exponentials without overflow or underflow."""

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import kernel
from rankloop.losses.kernels.math import inline

__all__ = ["NOTHING", "add_logs", "lower_sums"]

NOTHING = -1e300  # the logarithm of an empty sum


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
