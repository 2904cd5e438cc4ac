"""Ties of scores for the lambdas in single precision: mean discounts, and pairs within a tie."""

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop.lists.kernels.sort import scratch, sort_list
from rankloop.losses.kernels.math import inner

__all__ = ["cut_discount", "has_ties", "mean_discounts", "take_share", "tied_pairs"]

_SMALL = 12  # documents of a tie whose pairs are faster visited one by one than sorted


@inner
def has_ties(n: int, key: Floats) -> bool:
    equal = 0
    for k in range(1, n):
        equal += key[k] == key[k - 1]
    return equal > 0


@inner
def mean_discounts(
    n: int, truncation: int, key: Floats, sums: Floats, gamma: Singles
) -> tuple[int, int, int]:
    """The mean discount of each tie; `key` holds the falling scores.

    `sums` holds the running sums of the discounts, and of the discounts times their place from 0. Gives how
    many ranks have rows of their own (documents of the last tie have none below them, and need none), and
    the tie that the truncation cuts, if there is one.
    """
    top, begin, end, low = 0, n, n, 0
    while low < n:
        high = _tie_end(low, n, key)
        if high > low + 1:
            _fill(low, high, (sums[0, high] - sums[0, low]) / (high - low), gamma)
        if high <= truncation and high < n:
            top = high
        elif low < truncation < high:
            begin, end = low, high
        low = high
    return top, begin, end


@inner
def cut_discount(begin: int, end: int, truncation: int, sums: Floats, gamma: Singles) -> None:
    """The mean discount of the places of a tie above the truncation, where one is cut."""
    if begin < end:
        _fill(begin, end, (sums[0, truncation] - sums[0, begin]) / (truncation - begin), gamma)


@inner
def take_share(
    n: int, begin: int, end: int, truncation: int, sums: Floats, gamma: Singles, g: Singles, h: Singles
) -> None:
    """Of the rows of a tie that is cut, the chance to stand above; then its mean discount, for the others."""
    share = np.float32((truncation - begin) / (end - begin))
    for k in range(n):
        g[k] *= share
        h[k] *= share
    _fill(begin, end, (sums[0, end] - sums[0, begin]) / (end - begin), gamma)


@inner
def tied_pairs(
    n: int,
    truncation: int,
    gap: float,
    key: Floats,
    gain: Singles,
    odds: Singles,
    sums: Floats,
    g: Singles,
    h: Singles,
) -> None:
    """Add the pairs within ties: all chances are one half, and one weight serves all pairs of a tie."""
    low = 0
    while low < min(n, truncation):
        high = _tie_end(low, n, key)
        if high > low + 1:
            pull = _tie_weight(low, high, truncation, sums) / gap
            if high - low <= _SMALL:
                _visit_pairs(low, high, np.float32(pull), gain, odds, g, h)
            else:
                _sorted_pairs(low, high, pull, gain, odds, g, h)
        low = high


@inner
def _tie_end(low: int, n: int, key: Floats) -> int:
    high = low + 1
    while high < n and key[high] == key[low]:
        high += 1
    return high


@inner
def _fill(low: int, high: int, value: float, gamma: Singles) -> None:
    for k in range(low, high):
        gamma[k] = np.float32(value)


@inner
def _tie_weight(low: int, high: int, truncation: int, sums: Floats) -> float:
    """The mean difference of the discounts of two places of a tie (`tied_ranks.within_ties`)."""
    m, cut = high - low, min(truncation, high)
    upper, moment = sums[0, cut] - sums[0, low], sums[1, cut] - sums[1, low]
    total = (m - 1 + 2 * low) * upper - 2.0 * moment - (cut - low) * (sums[0, high] - sums[0, cut])
    return float(total / (0.5 * m * (m - 1)))


@inner
def _visit_pairs(
    low: int, high: int, pull: np.float32, gain: Singles, odds: Singles, g: Singles, h: Singles
) -> None:
    """One by one, for a small tie."""
    half, bend = np.float32(0.5) * pull, np.float32(0.25) * pull / odds[low]
    for a in range(low, high):
        for b in range(a + 1, high):
            ahead = gain[a] - gain[b]
            g[a] -= half * ahead
            g[b] += half * ahead
            h[a] += bend * abs(ahead)
            h[b] += bend * abs(ahead)


@inner
def _sorted_pairs(
    low: int, high: int, pull: float, gain: Singles, odds: Singles, g: Singles, h: Singles
) -> None:
    """For a large tie: sums of differences follow from sorted gains."""
    m, total, above = high - low, 0.0, 0.0
    row, falling, spare, bucket, slot = scratch(m)
    sort_list(gain[low:high].astype(np.float64), row, falling, spare, bucket, slot)
    for t in range(m):
        total += falling[t]
    for t in range(m):
        k, v = low + row[t], falling[t]
        apart = (above - t * v) + (v * (m - t - 1) - (total - above - v))
        g[k] -= np.float32(0.5 * pull * (m * v - total))
        h[k] += np.float32(0.25 * pull * apart / np.float64(odds[k]))
        above += v
