"""The logistic losses over pairs in double precision: RankNet, LambdaRank, LambdaLoss.

One kernel takes every rule of weighting pairs, with values, item weights and explicit pairs. Lists are in
order of score; a document and all below it are a row, and rows come two at a time (`rows`).
`single_lambdas` has the case that trees ask for most, in single precision.
"""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import over_lists
from rankloop.data import Pairs
from rankloop.lists.kernels.sort import longest_list
from rankloop.losses.kernels.judged_pairs import judged_pairs
from rankloop.losses.kernels.lists import LossLists, group_pairs
from rankloop.losses.kernels.math import exp_negative, fast, inner, workspace
from rankloop.losses.kernels.pair_rule import PairRule, list_scale, pairs_of_ties, weigh, weigh_tied
from rankloop.losses.kernels.rows import logistic_rows, odds_row, scale_row, valued_rows
from rankloop.losses.loss_result import LossResult

__all__ = ["pair_loss"]

NEAR = 300.0  # up to this span of sigma * score, odds come from one exponential per document
LANES = 8  # doubles of a vector
HUGE = 1e300  # above every weight of a pair

_UNSCALED = np.zeros(0)  # no item weights: pairs count as their rule says


def pair_loss(lists: LossLists, order: Ints, rule: PairRule, *, sigma: float, valued: bool) -> LossResult:
    """Value (if wanted), gradient and Hessian of weighted pairs under log(1 + exp(-sigma (s_i - s_j)))."""
    if lists.pairs is not None:
        return _explicit_pairs(lists, lists.pairs, order, rule, sigma)
    made = LossResult.zeros(lists.n_lists, lists.n_documents)
    weight = lists.item_weight if len(lists.weight) or rule.shrink_gap else _UNSCALED
    if len(rule.drop):
        rule = rule._replace(drop=np.append(rule.drop, np.zeros(LANES)))

    def work(first: int, last: int) -> None:
        _pair_lists(first, last, lists.offsets, order, lists.scores, weight, rule, valued, sigma, *made)

    over_lists(work, lists.offsets)
    return made


def _explicit_pairs(lists: LossLists, pairs: Pairs, order: Ints, rule: PairRule, sigma: float) -> LossResult:
    made, g, h = LossResult.zeros(lists.n_lists, lists.n_documents), *np.zeros((2, lists.n_documents))
    place = np.empty(lists.n_documents, np.int64)
    place[order] = np.arange(lists.n_documents)
    edges, better, worse, chance, heavy = group_pairs(lists, pairs)
    judged_pairs(
        edges, place[better], place[worse], chance, heavy,
        lists.offsets, lists.scores[order], lists.item_weight[order], rule, sigma, made.value, g, h,
    )  # fmt: skip
    made.gradient[order], made.hessian[order] = g, h
    return made


@fast
def _pair_lists(
    first: int,
    last: int,
    offsets: Ints,
    order: Ints,
    scores: Floats,
    weight: Floats,
    rule: PairRule,
    valued: bool,
    sigma: float,
    value: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    # Rows of work. Plain rules read gains and swap terms as they are; `written` ones write the weights of
    # each row of pairs to x_a and x_b first, since the vector loops take one affine form only.
    longest = longest_list(offsets, first, last)
    work = workspace(14, longest)
    work[:] = 0.0
    zero, one, less, odds, other, x_a = work[0], work[1], work[2], work[3], work[4], work[5]
    x_b, s, y, c, g, h = work[6], work[7], work[8], work[9], work[10], work[11]
    huge, w = work[12], work[13]
    one[:], less[:], huge[:] = 1.0, -1.0, HUGE
    own, sign, ties, drop = rule.own, rule.sign, rule.ties, rule.drop
    alpha, beta, within, halves = rule.alpha, rule.beta, rule.within, rule.halves
    ends, middles, shares = rule.ranks.end, rule.ranks.middle, rule.ranks.share
    swaps, drops, scaled = rule.alpha.size > 0, drop.size > 0, weight.size > 0
    turns = 3 if ties else (2 if own or (drops and swaps) else 1)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        n = stop - start
        if n < 2 or rule.factor[q] == 0.0:
            continue
        tied = rule.ranks.tied.size > 0 and rule.ranks.tied[q]
        reach = rule.ranks.reach[q] if rule.ranks.reach.size > 0 else n
        written = own or ties or scaled or (tied and drops)
        most = 1.0 if sign and not written else HUGE
        # The list, padded to whole lanes: padding is never preferred, at odds of 0, so no loop has a rest.
        for k in range(n):
            s[k] = scores[order[start + k]]
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
        up, down = zero, less
        if sign:
            up, down = huge, zero
        elif swaps:
            up, down = rule.alpha[start:stop], rule.beta[start:stop] if rule.beta.size > 0 else one
        if scaled:
            for k in range(n):
                w[k] = weight[order[start + k]]
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
            # Two rows of pairs at a time: what is loaded of a document below them serves both.
            for i in range(0, min(reach, n - 1), 2):
                low = i + 1
                end = low + (n - low + LANES - 1) // LANES * LANES
                second = 1.0 if low < reach else 0.0
                lift_a, lift_b = 1.0, 1.0
                if near:
                    lift_a, lift_b = 1.0 / odds[i], 1.0 / odds[low]
                else:
                    odds_row(low, n, s[i], s, sigma, odds)
                    odds_row(low, n, s[low], s, sigma, other)
                # The weights of both rows, where they are written out.
                if tied and written:
                    weigh_tied(
                        turn, start, i, n, y, alpha, beta, c, within, halves, ends, middles, shares,
                        own, distant, x_a,
                    )  # fmt: skip
                    weigh_tied(
                        turn, start, low, n, y, alpha, beta, c, within, halves, ends, middles, shares,
                        own, distant, x_b,
                    )  # fmt: skip
                elif written:
                    weigh(turn, i, n, y, up, down, c, drop, zero, own, sign, distant, x_a)
                    weigh(turn, low, n, y, up, down, c, drop, zero, own, sign, distant, x_b)
                if written:
                    if scaled:
                        scale_row(low, n, w[i], w, s[i], s, shrink, x_a)
                        scale_row(low + 1, n, w[low], w, s[low], s, shrink, x_b)
                    x_b[low] = 0.0
                # Lambdas and Hessians of both rows, in vector loops; the cost only where it is asked for.
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
        # A plain rule took pairs within a tie as any others; what they lack has a closed form.
        if tied and not written:
            lacked, worth = pairs_of_ties(start, n, y, alpha, beta, c, within, ends, g, h)
            size += lacked
            total += worth
        # The scale of a list may depend on the sum of its lambdas, so it comes last.
        scale = list_scale(size, rule.factor[q], sigma, rule.shrink_list)
        value[q] = total * scale
        for k in range(n):
            gradient[order[start + k]] = g[k] * scale * sigma
            hessian[order[start + k]] = h[k] * scale * sigma * sigma


@inner
def _odds(n: int, s: Floats, sigma: float, odds: Floats) -> None:
    for k in range(n):
        odds[k] = exp_negative(sigma * (s[0] - s[k]))
