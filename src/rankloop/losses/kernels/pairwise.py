"""The logistic losses over pairs in double precision: RankNet, LambdaRank, LambdaLoss.

One kernel takes every rule of weighting pairs, with values, item weights and explicit pairs. Lists are in
order of score; a document and all below it are a row, and rows come two at a time (`rows`).
`single_lambdas` has the case that trees ask for most, in single precision.
"""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import over_lists
from rankloop.losses.kernels.lists import LossLists, group_pairs
from rankloop.losses.kernels.math import exp_negative, fast, inner, workspace
from rankloop.losses.kernels.rows import affine_row, logistic_rows, odds_row, scale_row, sign_row, valued_rows
from rankloop.losses.loss_result import LossResult

__all__ = ["EVERY", "PairRule", "pair_loss"]

NEAR = 300.0  # up to this span of sigma * score, odds come from one exponential per document
EVERY = 2**62  # no truncation
LANES = 8  # doubles of a vector
HUGE = 1e300  # above every weight of a pair


class PairRule(NamedTuple):
    """The weight of a pair, by rank.

    A pair of ranks i < j has the weight ``(gain_i - gain_j) (alpha_i - beta_i gamma_j + drop[j - i])``; with
    `own` that is the `gain` of the preferred document, in both directions; with `sign` it is 1 (and 1/2 each
    way where labels are equal and `ties` count). `factor` multiplies each list.
    """

    gain: Floats
    alpha: Floats
    beta: Floats
    gamma: Floats
    factor: Floats
    drop: Floats = np.zeros(0)
    own: bool = False
    sign: bool = False
    ties: bool = False
    shrink_gap: bool = False
    shrink_list: bool = False


def pair_loss(
    lists: LossLists, order: Ints, rule: PairRule, *, sigma: float, truncation: int | None, valued: bool
) -> LossResult:
    """Value (if wanted), gradient and Hessian of weighted pairs under log(1 + exp(-sigma (s_i - s_j)))."""
    made, g, h = LossResult.zeros(lists.n_lists, lists.n_documents), *np.zeros((2, lists.n_documents))
    scores, weight = lists.scores[order], lists.item_weight[order]
    top = EVERY if truncation is None else truncation
    if lists.pairs is None:
        scaled = bool(len(lists.weight)) or rule.shrink_gap
        if len(rule.drop):
            rule = rule._replace(drop=np.append(rule.drop, np.zeros(LANES)))

        def work(first: int, last: int) -> None:
            _pair_lists(
                first, last, lists.offsets, scores, weight, rule, scaled, valued, sigma, top,
                made.value, g, h,
            )  # fmt: skip

        over_lists(work, lists.offsets)
    else:
        place = np.empty(lists.n_documents, np.int64)
        place[order] = np.arange(lists.n_documents)
        edges, better, worse, chance, heavy = group_pairs(lists, lists.pairs)
        _judged_pairs(
            edges, place[better], place[worse], chance, heavy,
            lists.offsets, scores, weight, rule, sigma, top, made.value, g, h,
        )  # fmt: skip
    made.gradient[order], made.hessian[order] = g, h
    return made


@fast
def _pair_lists(
    first: int,
    last: int,
    offsets: Ints,
    scores: Floats,
    weight: Floats,
    rule: PairRule,
    scaled: bool,
    valued: bool,
    sigma: float,
    truncation: int,
    value: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    # Rows of work. Plain rules read gains and swap terms as they are; `written` ones write the weights of
    # each row of pairs to x_a and x_b first, since the vector loops take one affine form only.
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    work = workspace(13, longest)
    work[:] = 0.0
    zero, one, less, odds, other, x_a = work[0], work[1], work[2], work[3], work[4], work[5]
    x_b, s, y, c, g, h = work[6], work[7], work[8], work[9], work[10], work[11]
    huge = work[12]
    one[:], less[:], huge[:] = 1.0, -1.0, HUGE
    own, sign, ties, drop = rule.own, rule.sign, rule.ties, rule.drop
    swaps, drops, written = rule.alpha.size > 0, drop.size > 0, own or ties or scaled
    most = 1.0 if sign and not written else HUGE
    turns = 3 if ties else (2 if own or (drops and swaps) else 1)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        if n < 2 or rule.factor[q] == 0.0:
            continue
        # The list, padded to whole lanes: padding is never preferred, at odds of 0, so no loop has a rest.
        for k in range(n):
            s[k] = scores[start + k]
            y[k] = rule.gain[start + k]
            c[k] = rule.gamma[start + k] if swaps else 0.0
            g[k] = 0.0
            h[k] = 0.0
        for k in range(n, n + LANES):
            odds[k], other[k], x_a[k], x_b[k], s[k] = 0.0, 0.0, 0.0, 0.0, 0.0
            y[k], c[k] = -HUGE, -n - 1.0  # below every gain, and every alpha
        # One exponential per document where the scores allow it; else one per pair, in `odds_row`.
        near = sigma * (s[0] - s[n - 1]) <= NEAR
        if near:
            _odds(n, s, sigma, odds)
        shrink = 1.0 if rule.shrink_gap and s[0] > s[n - 1] else 0.0
        w, up, down = weight[start:stop], zero, less
        if sign:
            up, down = huge, zero
        elif swaps:
            up, down = rule.alpha[start:stop], rule.beta[start:stop]
        odds_b = odds if near else other
        total, size = 0.0, 0.0
        # A rule that is a sum of affine forms takes a turn for each; every turn goes over all rows.
        for turn in range(turns):
            distant = drops and (turn == 1 or not swaps)
            moving = distant and not written
            top, gains, a, b, gamma_a, gamma_b = y, y, up, down, c, c
            if written:
                top, gains, a, b, gamma_a, gamma_b = one, zero, zero, less, x_a, x_b
            elif distant:
                a, b, gamma_a, gamma_b = zero, less, drop, drop
            for i in range(0, min(truncation, n - 1), 2):
                low = i + 1
                end = low + (n - low + LANES - 1) // LANES * LANES
                second = 1.0 if low < truncation else 0.0
                lift_a, lift_b = 1.0, 1.0
                if near:
                    lift_a, lift_b = 1.0 / odds[i], 1.0 / odds[low]
                else:
                    odds_row(low, n, s[i], s, sigma, odds)
                    odds_row(low, n, s[low], s, sigma, other)
                if written:
                    _weigh(turn, i, n, y, up, down, c, drop, zero, own, sign, distant, x_a)
                    _weigh(turn, low, n, y, up, down, c, drop, zero, own, sign, distant, x_b)
                    if scaled:
                        scale_row(low, n, w[i], w, s[i], s, shrink, x_a)
                        scale_row(low + 1, n, w[low], w, s[low], s, shrink, x_b)
                    x_b[low] = 0.0
                back_a, back_b = (i, low) if moving else (0, 0)
                if valued:
                    sums = valued_rows(
                        i, end, second, most, s, lift_a, lift_b, odds, odds_b, top, gains, a, b,
                        gamma_a, gamma_b, back_a, back_b, g, h,
                    )  # fmt: skip
                else:
                    sums = logistic_rows(
                        i, end, second, most, s, lift_a, lift_b, odds, odds_b, top, gains, a, b,
                        gamma_a, gamma_b, back_a, back_b, g, h,
                    )  # fmt: skip
                size += sums[0]
                total += sums[1] + sigma * sums[2]
        scale = _scale(size, rule.factor[q], sigma, rule.shrink_list)
        value[q] = total * scale
        for k in range(n):
            gradient[start + k] = g[k] * scale * sigma
            hessian[start + k] = h[k] * scale * sigma * sigma


@inner
def _weigh(
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
def _odds(n: int, s: Floats, sigma: float, odds: Floats) -> None:
    for k in range(n):
        odds[k] = exp_negative(sigma * (s[0] - s[k]))


@inner
def _scale(size: float, factor: float, sigma: float, shrink_list: bool) -> float:
    """The factor of a list, times LightGBM's log2(1 + S) / S for `norm_list`; S sums the lambdas."""
    if shrink_list and size > 0.0:
        total = 2.0 * size * factor * sigma
        factor *= np.log2(1.0 + total) / total
    return factor


@fast
def _judged_pairs(
    edges: Ints,
    better: Ints,
    worse: Ints,
    chance: Singles,
    heavy: Singles,
    offsets: Ints,
    scores: Floats,
    weight: Floats,
    rule: PairRule,
    sigma: float,
    truncation: int,
    value: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    """The same costs for explicit pairs: cross-entropy with their own probability."""
    gain, drop, own = rule.gain, rule.drop, rule.own
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        total, size = 0.0, 0.0
        for p in range(edges[q], edges[q + 1]):
            a, b = better[p], worse[p]
            i, j = min(a, b), max(a, b)
            if i - start >= truncation:
                continue
            up = heavy[p] * chance[p] * weight[a] * (gain[a] if own else 1.0)
            down = heavy[p] * (1.0 - chance[p]) * weight[b] * (gain[b] if own else 1.0)
            if not (own or rule.sign):
                swap = drop[j - i] if drop.size > 0 else 0.0
                if rule.alpha.size > 0:
                    swap += rule.alpha[i] - rule.beta[i] * rule.gamma[j]
                up *= abs(gain[i] - gain[j]) * swap
                down *= abs(gain[i] - gain[j]) * swap
            if rule.shrink_gap and scores[start] > scores[stop - 1]:
                up /= 0.01 + abs(scores[a] - scores[b])
                down /= 0.01 + abs(scores[a] - scores[b])
            z = sigma * (scores[a] - scores[b])
            t = np.exp(-abs(z))
            right = (1.0 if z > 0.0 else t) / (1.0 + t)
            f = down * right - up * (1.0 - right if z < 0.0 else t / (1.0 + t))
            gradient[a] += f
            gradient[b] -= f
            hessian[a] += (up + down) * t / (1.0 + t) ** 2
            hessian[b] += (up + down) * t / (1.0 + t) ** 2
            size += abs(f)
            total += up * (np.log1p(t) + max(-z, 0.0)) + down * (np.log1p(t) + max(z, 0.0))
        scale = _scale(size, rule.factor[q], sigma, rule.shrink_list)
        value[q] = total * scale
        for k in range(start, stop):
            gradient[k] *= scale * sigma
            hessian[k] *= scale * sigma * sigma
