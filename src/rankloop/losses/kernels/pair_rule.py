"""The weights of pairs: one rule for RankNet, LambdaRank and LambdaLoss."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.losses.kernels.math import inner
from rankloop.losses.kernels.rows import affine_row, sign_row
from rankloop.losses.kernels.tied_ranks import TiedRanks

__all__ = ["PairRule", "list_scale", "pairs_of_ties", "weigh", "weigh_tied"]


class PairRule(NamedTuple):
    """The weight of a pair, by rank.

    A pair of ranks i < j has the weight ``(gain_i - gain_j) (alpha_i - beta_i gamma_j + drop[j - i])``; with
    `own` that is the `gain` of the preferred document, in both directions; with `sign` it is 1 (and 1/2 each
    way where labels are equal and `ties` count). An empty beta is 1. `factor` multiplies each list.

    Two documents of one tie of scores have `within` in place of the second bracket. Where a list has ties,
    drops are read at the distance of mean ranks, in steps of one half (`halves`), and what does not come
    with an alpha is multiplied by the chance that the pair reaches above the truncation.
    """

    gain: Floats
    alpha: Floats
    beta: Floats
    gamma: Floats
    factor: Floats
    ranks: TiedRanks
    within: Floats = np.zeros(0)
    drop: Floats = np.zeros(0)
    halves: Floats = np.zeros(0)
    own: bool = False
    sign: bool = False
    ties: bool = False
    shrink_gap: bool = False
    shrink_list: bool = False


@inner
def weigh(
    turn: int,
    i: int,
    n: int,
    gain: Floats,
    alpha: Floats,
    beta: Floats,
    gamma: Floats,
    drop: Floats,
    zero: Floats,
    own: bool,
    sign: bool,
    distant: bool,
    x: Floats,
) -> None:
    """The signed weights of the pairs of rank i and all below, for rules that are not one affine form."""
    low = i + 1
    if sign:
        half = 0.5 if turn == 1 else -0.5
        sign_row(low, n, gain[i], gain, 0.0 if turn else 1.0, half if turn else 0.0, x)
    elif own:
        affine_row(low, n, 0.0 if turn else gain[i], 1.0, 0.0, gain if turn else zero, zero, 0, x)
    elif distant:
        affine_row(low, n, gain[i], 0.0, -1.0, gain, drop, i, x)
    else:
        affine_row(low, n, gain[i], alpha[i], beta[i], gain, gamma, 0, x)


@inner
def weigh_tied(
    turn: int,
    start: int,
    i: int,
    n: int,
    gain: Floats,
    alpha: Floats,
    beta: Floats,
    gamma: Floats,
    within: Floats,
    halves: Floats,
    ends: Ints,
    middles: Ints,
    shares: Floats,
    own: bool,
    distant: bool,
    x: Floats,
) -> None:
    """The same in a list with ties of scores: documents of one tie, then all below it.

    Arrays come one by one: a rule or its ranks, handed over whole, would cost more than a row.
    """
    at, low, first = start + i, i + 1, gain[i]
    counts = shares[at]
    # Within the tie one weight serves all pairs; of two turns the first brings it.
    same = within[at] if own or turn == 0 else 0.0
    tie, rest, last = np.uint64(low), np.uint64(max(low, ends[at] - start)), np.uint64(n)
    if own:
        above, below = (0.0, 1.0) if turn else (1.0, 0.0)
        for j in range(tie, rest):
            x[j] = same * (above * first - below * gain[j])
        for j in range(rest, last):
            x[j] = counts * (above * first - below * gain[j])
        return
    for j in range(tie, rest):
        x[j] = same * (first - gain[j])
    if distant:
        middle, by_row = middles[at], np.uint64(start)
        for j in range(rest, last):
            x[j] = counts * (first - gain[j]) * halves[middles[j + by_row] - middle]
    else:
        of_tie, cut = alpha[at], beta[at]
        for j in range(rest, last):
            x[j] = (first - gain[j]) * (of_tie - cut * gamma[j])


@inner
def pairs_of_ties(
    start: int,
    n: int,
    gain: Floats,
    alpha: Floats,
    beta: Floats,
    gamma: Floats,
    within: Floats,
    ends: Ints,
    g: Floats,
    h: Floats,
) -> tuple[float, float]:
    """What pairs within ties lack where all pairs took one affine form; the sums of lambdas and values.

    Their chances are one half, and one weight serves a whole tie.
    """
    size, low = 0.0, 0
    while low < n:
        high, at = ends[start + low] - start, start + low
        lacks = within[at] - (alpha[at] - beta[at] * gamma[low])
        for i in range(low, high - 1):
            a, first, whole, moved = np.uint64(i), gain[i], 0.0, 0.0
            for j in range(np.uint64(i + 1), np.uint64(high)):
                f = 0.5 * lacks * (first - gain[j])
                g[j] += f
                h[j] += 0.5 * lacks * abs(first - gain[j]) * 0.5
                moved += f
                whole += 0.5 * lacks * abs(first - gain[j])
            g[a] -= moved
            h[a] += 0.5 * whole
            size += whole
        low = high
    return size, 2.0 * np.log(2.0) * size


@inner
def list_scale(size: float, factor: float, sigma: float, shrink_list: bool) -> float:
    """The factor of a list, times LightGBM's log2(1 + S) / S for `norm_list`; S sums the lambdas."""
    if shrink_list and size > 0.0:
        total = 2.0 * size * factor * sigma
        factor *= np.log2(1.0 + total) / total
    return factor
