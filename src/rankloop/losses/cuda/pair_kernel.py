"""The kernel of the pairwise losses on a device: a tile of rows against all documents of its list.

Each document adds up its own side of every pair, so that no two programs write to one place: results are the
same every time, and nothing of size n × n is ever stored. Rows lie along the lanes of a warp, which adds up
without exchanging anything. Lists are in order of score: under a truncation the rows below it are compared
only with the documents above it.

With E = exp(sigma score), relative to the highest of the list, the chance that a pair is in the wrong order
is E_j / (E_i + E_j): under DCG a pair then takes one reciprocal and no exponential. Lists whose scores are
too far apart for that, and tiles with ties, take the terms of any pair.
"""

from __future__ import annotations

from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.lists import tile_of

__all__ = ["pair_kernel", "pair_terms", "softplus"]


@jit
def softplus(behind):  # type: ignore[no-untyped-def]
    """log2(1 + 2^behind); log2(1 + t) / t is a polynomial, accurate to 3e-7 from 0 to 1."""
    t = tl.exp2(-tl.abs(behind))
    near = 0.25600967 + t * (-0.155351803 + t * (0.063607842 - t * 0.0123194593))
    near = 1.44269476 + t * (-0.721310088 + t * (0.480063694 + t * (-0.35339481 + t * near)))
    return t * near + tl.maximum(behind, 0.0)


@jit
def pair_terms(x, ahead, HESSIAN: tl.constexpr, VALUE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Lambda, Hessian and cost of pairs of weight x, where the row is `ahead` (to base 2) of the other.

    x > 0: the row is the preferred one. There are no branches: signs are moved as bits, and 1 / (1 + e) is
    the square of a reciprocal root.
    """
    sign = x.to(tl.int32, bitcast=True) & -2147483648
    behind = -(ahead.to(tl.int32, bitcast=True) ^ sign).to(tl.float32, bitcast=True)
    e = tl.exp2(tl.minimum(behind, 120.0))
    root = tl.rsqrt(1.0 + e)
    right = root * root
    wrong = e * right
    lambda_ = -x * wrong
    hess = x
    cost = x
    if HESSIAN:
        hess = tl.abs(x) * (wrong * right)
    if VALUE:
        cost = tl.abs(x) * softplus(behind)
    return lambda_, hess, cost


@jit
def pair_kernel(  # type: ignore[no-untyped-def]
    scores, gains, discounts, weights, alphas, betas, gammas, drops, middles, withins, shares, eithers,
    reaches, factors, order, offsets, tile_list, tile_ends, gradient, hessian, cost, size, n_lists, sigma,
    margin, KIND: tl.constexpr, CURVE: tl.constexpr, TIES: tl.constexpr, TIED: tl.constexpr,
    CHANCED: tl.constexpr, WEIGHTED: tl.constexpr, SHRINK: tl.constexpr, SIZED: tl.constexpr,
    CUT: tl.constexpr, HESSIAN: tl.constexpr, VALUE: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    # The rows of this tile, and what the kind of pair weight needs of them. All switches are constants of
    # the compiled kernel, so that a loss pays only for what it uses.
    factor = tl.load(factors + q)
    base2 = sigma * 1.44269504
    at = first + tl.arange(0, BLOCK)
    there = at < n
    row = tl.load(order + start + at, mask=there, other=0)
    i = at[None, :]
    s_i = tl.load(scores + start + at, mask=there, other=0.0)[None, :]
    g_i = tl.load(gains + start + at, mask=there, other=0.0)[None, :]
    if WEIGHTED:
        w_i = tl.load(weights + row, mask=there, other=0.0)[None, :]
    if KIND == 0:
        d_i = tl.load(discounts + start + at, mask=there, other=0.0)[None, :]
    if KIND == 2 or KIND == 3:
        middle_i = tl.load(middles + start + at, mask=there, other=0)[None, :]
    if TIED:
        within_i = tl.load(withins + start + at, mask=there, other=0.0).to(tl.float32)[None, :]
    # Forms without an alpha count a pair by the chance that it reaches above the truncation.
    if CHANCED:
        share_i = tl.load(shares + start + at, mask=there, other=0.0).to(tl.float32)[None, :]
        either_i = tl.load(eithers + start + at, mask=there, other=0.0).to(tl.float32)[None, :]
    if KIND == 1 or KIND == 3:
        alpha_i = tl.load(alphas + start + at, mask=there, other=0.0)[None, :]
        beta_i = tl.load(betas + start + at, mask=there, other=0.0)[None, :]
        gamma_i = tl.load(gammas + start + at, mask=there, other=0.0)[None, :]
    if SHRINK:
        shrinks = tl.load(scores + start) > tl.load(scores + start + n - 1)
    lambda_ = tl.zeros([BLOCK], tl.float32)
    hess = tl.zeros([BLOCK], tl.float32)
    costs = tl.zeros([BLOCK], tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    # How far down the rows are compared: under a truncation not below it, and nowhere where nothing counts.
    stop = n
    if CUT:
        reach = tl.load(reaches + q).to(tl.int32)
        stop = tl.where(first < reach, n, tl.minimum(n, reach))
    stop = tl.where(factor != 0.0, stop, 0)
    # Under DCG: odds of all scores, WIDTH documents at a time, with all rows of the tile at once.
    if KIND == 0 and CURVE == 0 and not SHRINK and not SIZED:
        top = tl.load(scores + start)
        apart = (top - tl.load(scores + start + tl.maximum(n - 1, 0))).to(tl.float32) * base2
        plain = apart < 100.0
        if TIED:
            plain = plain & (tl.max(within_i) == 0.0)
        t_i = tl.where(there[None, :], (s_i - top).to(tl.float32) * base2, 0.0)
        e_i = tl.exp2(t_i)
        for low in range(0, tl.where(plain, stop, 0), WIDTH):
            met = low + tl.arange(0, WIDTH)
            inside = met < n
            s_j = tl.load(scores + start + met, mask=inside, other=0.0)
            t_j = tl.where(inside, (s_j - top).to(tl.float32) * base2, -200.0)[:, None]
            e_j = tl.exp2(t_j)
            more = g_i - tl.load(gains + start + met, mask=inside, other=0.0)[:, None]
            live = tl.where(inside, 1.0, 0.0)[:, None]
            x = more * tl.abs(d_i * live - tl.load(discounts + start + met, mask=inside, other=0.0)[:, None])
            if WEIGHTED:
                other = tl.load(order + start + met, mask=inside, other=0)
                x *= tl.where(more > 0, w_i, tl.load(weights + other, mask=inside, other=0.0)[:, None])
            if VALUE:
                costs += tl.sum(tl.abs(x) * softplus(tl.where(more > 0, t_j - t_i, t_i - t_j)), 0)
            root = tl.rsqrt(e_i + e_j)
            part = root * root
            x *= part
            lambda_ -= tl.sum(x * tl.where(more > 0, e_j, e_i), 0)
            if HESSIAN:
                hess += tl.sum(tl.abs(x) * (part * e_j), 0)
        if HESSIAN:
            hess *= tl.sum(e_i, 0)
        stop = tl.where(plain, 0, stop)
    # Any pairs: the documents that are compared, WIDTH at a time, with all rows of the tile at once.
    for low in range(0, stop, WIDTH):
        met = low + tl.arange(0, WIDTH)
        inside = met < n
        j = met[:, None]
        s_j = tl.load(scores + start + met, mask=inside, other=0.0)[:, None]
        g_j = tl.load(gains + start + met, mask=inside, other=0.0)[:, None]
        live = tl.where(inside, 1.0, 0.0)[:, None]
        if TIED:
            same = s_i == s_j
        chance = live
        if CHANCED:
            share_j = tl.load(shares + start + met, mask=inside, other=0.0).to(tl.float32)[:, None]
            chance = tl.where(s_i == s_j, either_i, tl.where(i < j, share_i, share_j)) * live
        # The signed weight x of each pair: > 0 where the row is the preferred one.
        gap = (s_i - s_j).to(tl.float32)
        if KIND == 5:
            x = (g_i > g_j).to(tl.float32) - (g_i < g_j).to(tl.float32)
        elif KIND == 4:
            x = g_i + 0.0 * g_j
        else:
            if KIND == 1 or KIND == 3:
                alpha_j = tl.load(alphas + start + met, mask=inside, other=0.0)[:, None]
                beta_j = tl.load(betas + start + met, mask=inside, other=0.0)[:, None]
                gamma_j = tl.load(gammas + start + met, mask=inside, other=0.0)[:, None]
                swap = tl.where(i < j, alpha_i - beta_i * gamma_j, alpha_j - beta_j * gamma_i)
                swap = swap.to(tl.float32)
            if KIND == 0:
                d_j = tl.load(discounts + start + met, mask=inside, other=0.0)[:, None]
                swap = tl.abs(d_i * tl.where(inside, 1.0, 0.0)[:, None] - d_j)  # none beyond the list
            if KIND == 2 or KIND == 3:
                middle_j = tl.load(middles + start + met, mask=inside, other=0)[:, None]
                known = inside[:, None] & there[None, :]
                fall = tl.load(drops + tl.abs(middle_i - middle_j), mask=known, other=0.0) * chance
                swap = fall if KIND == 2 else swap + fall
            if TIED:
                swap = tl.where(same, within_i, swap)
            x = (g_i - g_j) * swap
        # What multiplies the weight: whether the pair counts, item weights, and the closeness of the scores.
        if KIND == 4:
            x *= chance
        elif KIND != 0 or TIED:
            x *= live
        if WEIGHTED:
            other = tl.load(order + start + met, mask=inside, other=0)
            w_j = tl.load(weights + other, mask=inside, other=0.0)[:, None]
            x *= tl.where(x > 0, w_i, w_j)
        if SHRINK:
            x *= tl.where(shrinks, 1.0 / (0.01 + tl.abs(gap)), 1.0)
        # Costs: the logistic loss by `pair_terms`, or a hinge. Each row adds up its own side in registers.
        if CURVE == 0:
            if KIND == 4:  # the row's own amount, against the other's
                apart = tl.where(i != j, 1.0, 0.0)
                y = (g_j + 0.0 * g_i) * apart * chance
                x *= apart
                if WEIGHTED:
                    y *= w_j
                pair_lambda, pair_hess, pair_cost = pair_terms(-y, base2 * gap, HESSIAN, VALUE)
                lambda_ += tl.sum(pair_lambda, 0)
                hess += tl.sum(pair_hess, 0)
                costs += tl.sum(pair_cost, 0)
            if TIES:  # half of a preference each way
                y_i = tl.where((g_i == g_j) & (i != j), 0.5 * live, 0.0)
                y_j = y_i
                if WEIGHTED:
                    y_j = y_i * w_j
                    y_i *= w_i
                pair_lambda, pair_hess, pair_cost = pair_terms(y_i, base2 * gap, HESSIAN, VALUE)
                lambda_ += tl.sum(pair_lambda, 0)
                hess += tl.sum(pair_hess, 0)
                costs += tl.sum(pair_cost, 0)
                pair_lambda, pair_hess, pair_cost = pair_terms(-y_j, base2 * gap, HESSIAN, VALUE)
                lambda_ += tl.sum(pair_lambda, 0)
                hess += tl.sum(pair_hess, 0)
                costs += tl.sum(pair_cost, 0)
            pair_lambda, pair_hess, pair_cost = pair_terms(x, base2 * gap, HESSIAN, VALUE)
            lambda_ += tl.sum(pair_lambda, 0)
            if HESSIAN:
                hess += tl.sum(pair_hess, 0)
            if VALUE:
                costs += tl.sum(pair_cost, 0)
            if SIZED:
                total += tl.sum(tl.abs(pair_lambda), 0)
        else:  # only pairs closer than the margin cost something
            short = tl.maximum(margin - tl.where(x > 0, gap, -gap), 0.0)
            active = tl.where(short > 0, x, 0.0)
            if CURVE == 1:
                lambda_ -= tl.sum(active, 0)
                hess += tl.sum(tl.abs(active), 0)
                costs += tl.sum(tl.abs(active) * short, 0)
            else:
                lambda_ -= tl.sum(2.0 * active * short, 0)
                hess += tl.sum(2.0 * tl.abs(active), 0)
                costs += tl.sum(tl.abs(active) * short * short, 0)
    # Each row is stored once, by one program: no atomic additions.
    tl.store(gradient + row, lambda_ * factor * sigma, mask=there)
    if HESSIAN:
        tl.store(hessian + row, hess * factor * sigma * sigma, mask=there)
    if VALUE:  # each pair was met from both sides
        costs *= 0.5 * factor
        tl.store(cost + row, costs * 0.69314718 if CURVE == 0 else costs, mask=there)
    if SIZED:
        tl.store(size + row, 0.5 * total * factor * sigma, mask=there)
