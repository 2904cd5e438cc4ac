"""Ties of scores for the lambdas in single precision: mean discounts, and pairs within a tie."""

import numpy as np

from rankloop._arrays import Floats, Ints32, Singles
from rankloop.losses.kernels.math import inner

__all__ = ["cut_discount", "has_ties", "mean_discounts", "tie_end", "tie_lambdas", "tie_weight"]


@inner
def has_ties(n: int, key: Floats) -> bool:
    equal = 0
    for k in range(1, n):
        equal += key[k] == key[k - 1]
    return equal > 0


@inner
def tie_end(low: int, n: int, key: Floats) -> int:
    high = low + 1
    while high < n and key[high] == key[low]:
        high += 1
    return high


@inner
def mean_discounts(
    n: int, truncation: int, key: Floats, discount: Singles, shared: Singles
) -> tuple[int, int, int]:
    """The mean discount of each tie. Which ranks have rows of their own, and the tie that is cut, if any.

    Documents of the last tie have none below them, and need no row.
    """
    top, begin, end, low = 0, n, n, 0
    while low < n:
        high, total = tie_end(low, n, key), 0.0
        for k in range(low, high):
            total += np.float64(discount[k])
        for k in range(low, high):
            shared[k] = np.float32(total / (high - low))
        if high <= truncation and high < n:
            top = high
        elif low < truncation < high:
            begin, end = low, high
        low = high
    return top, begin, end


@inner
def cut_discount(begin: int, end: int, truncation: int, discount: Singles, shared: Singles) -> None:
    total = 0.0
    for k in range(begin, truncation):
        total += np.float64(discount[k])
    for k in range(begin, end):
        shared[k] = np.float32(total / (truncation - begin))


@inner
def tie_weight(low: int, high: int, truncation: int, discount: Singles) -> float:
    """The mean difference of the discounts of two places of a tie (`tied_ranks.within_ties`)."""
    m, total = high - low, 0.0
    inside = min(truncation - low, m)
    for p in range(m):
        total += np.float64(discount[low + p]) * ((m - 1 - p if p < inside else 0) - min(p, inside))
    return total / (0.5 * m * (m - 1))


@inner
def tie_lambdas(
    low: int, high: int, pull: float, row: Ints32, falling: Floats, odds: Singles, g: Singles, h: Singles
) -> None:
    """Add the pairs of one tie: chances are one half, and sums of differences follow from sorted gains."""
    m, total, above = high - low, 0.0, 0.0
    for t in range(m):
        total += falling[t]
    for t in range(m):
        k, v = low + row[t], falling[t]
        apart = (above - t * v) + (v * (m - t - 1) - (total - above - v))
        g[k] -= np.float32(0.5 * pull * (m * v - total))
        h[k] += np.float32(0.25 * pull * apart / np.float64(odds[k]))
        above += v
