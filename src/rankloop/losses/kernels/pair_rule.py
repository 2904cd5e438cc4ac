"""The weights of pairs: one rule for RankNet, LambdaRank and LambdaLoss."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats
from rankloop.losses.kernels.math import inner
from rankloop.losses.kernels.rows import affine_row, sign_row
from rankloop.losses.kernels.tied_ranks import TiedRanks

__all__ = ["PairRule", "list_scale", "weigh", "weigh_tied"]


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
    gamma: Floats,
    rule: PairRule,
    distant: bool,
    x: Floats,
) -> None:
    """The same in a list with ties of scores: documents of one tie, then all below it."""
    at, low, first = start + i, i + 1, gain[i]
    end, counts = rule.ranks.end[at] - start, rule.ranks.share[at]
    # Within the tie one weight serves all pairs; of two turns the first brings it.
    same = rule.within[at] if rule.own or turn == 0 else 0.0
    if rule.own:
        above, below = (0.0, 1.0) if turn else (1.0, 0.0)
        for j in range(low, end):
            x[j] = same * (above * first - below * gain[j])
        for j in range(max(low, end), n):
            x[j] = counts * (above * first - below * gain[j])
        return
    for j in range(low, end):
        x[j] = same * (first - gain[j])
    if distant:
        middle = rule.ranks.middle[at]
        for j in range(max(low, end), n):
            x[j] = counts * (first - gain[j]) * rule.halves[rule.ranks.middle[start + j] - middle]
    else:
        alpha, beta = rule.alpha[at], rule.beta[at]
        for j in range(max(low, end), n):
            x[j] = (first - gain[j]) * (alpha - beta * gamma[j])


@inner
def list_scale(size: float, factor: float, sigma: float, shrink_list: bool) -> float:
    """The factor of a list, times LightGBM's log2(1 + S) / S for `norm_list`; S sums the lambdas."""
    if shrink_list and size > 0.0:
        total = 2.0 * size * factor * sigma
        factor *= np.log2(1.0 + total) / total
    return factor
