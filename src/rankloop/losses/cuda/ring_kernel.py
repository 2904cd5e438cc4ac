"""LambdaRank under DCG on a device, second launch: the pairs, each met once where one tile holds the list.

A warp holds a tile of rows, some on each lane, and a tile of documents that they meet. After each step the
documents move on by one lane, and their sums with them: rows and documents add up in registers. Two documents
of one tile meet once; those of other tiles are met from both sides, by two programs. No two programs add to
one place: the same call gives the same bits.

With E = 2^t, t the score to base 2 below the highest of the list, the chance that a pair is in the wrong
order is E_j / (E_i + E_j): one reciprocal for a pair. Lists with ties, or with scores too far apart for that,
take the terms of any pair.
"""

from __future__ import annotations

from rankloop.lists.tensors.jit import INTERPRETED, jit, tl
from rankloop.losses.cuda.pair_kernel import pair_terms, softplus
from rankloop.losses.cuda.places import gain_at
from rankloop.losses.cuda.spans import span_of

__all__ = ["joined_kernel", "ring_kernel"]


@jit
def ring_kernel(  # type: ignore[no-untyped-def]
    scores, labels, weights, discount, within, units, factors, offsets, gradient, hessian, cost,
    n_lists, rows, each, sigma, EXP: tl.constexpr, WEIGHTED: tl.constexpr,
    HESSIAN: tl.constexpr, VALUE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ONCE: tl.constexpr,
    SPLIT: tl.constexpr,
):  # fmt: skip
    BLOCK: tl.constexpr = 32 * ROWS
    p, share = tl.program_id(0), tl.program_id(1)
    gradient += share.to(tl.int64) * rows
    hessian += share.to(tl.int64) * rows
    cost += share * (n_lists + (tl.num_programs(0) - n_lists) * each)
    begin = tl.where(p < n_lists, p, n_lists + (p - n_lists) * each)
    for slot in range(begin, tl.where(p < n_lists, begin + 1, begin + each)):
        q, start, n, first = span_of(offsets, slot, n_lists, rows, BLOCK)
        if slot >= n_lists:  # rows past the last list have no gradient
            i = (slot - n_lists) * BLOCK + tl.arange(0, BLOCK)
            outside = (i < rows) & (i >= tl.load(offsets + n_lists))
            tl.store(gradient + i, 0.0, mask=outside)
            if HESSIAN:
                tl.store(hessian + i, 0.0, mask=outside)
        unit = tl.load(units + q)
        factor = tl.load(factors + q)
        here = tl.zeros([32], tl.float32)
        if first < n:
            i = first + 32 * tl.arange(0, ROWS)[:, None] + tl.arange(0, 32)[None, :]
            top, plain = _spread(scores, within, start, n, sigma * 1.44269504, 128)
            if plain:
                down, bend, here = _tile(
                    scores, labels, weights, discount, within, start, n, first, share, top, unit,
                    sigma * 1.44269504, EXP, True, WEIGHTED, HESSIAN, VALUE, ROWS, COLUMNS, ONCE, SPLIT,
                )  # fmt: skip
            else:
                down, bend, here = _tile(
                    scores, labels, weights, discount, within, start, n, first, share, top, unit,
                    sigma * 1.44269504, EXP, False, WEIGHTED, HESSIAN, VALUE, ROWS, COLUMNS, ONCE, SPLIT,
                )  # fmt: skip
            tl.store(gradient + start + i, down * (factor * sigma), mask=i < n)
            if HESSIAN:
                tl.store(hessian + start + i, bend * (factor * sigma * sigma), mask=i < n)
        if VALUE:
            tl.store(cost + slot, tl.sum(here, 0) * (factor * 0.69314718))


@jit
def joined_kernel(  # type: ignore[no-untyped-def]
    cost, slopes, bends, offsets, value, gradient, hessian, n_lists, rows, slots,
    HESSIAN: tl.constexpr, VALUE: tl.constexpr, SPLIT: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The value of each list: the costs of its tiles; and what the programs of a tile found, added up."""
    q = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    if SPLIT > 1:
        tl.store(gradient + q, _added(slopes, q, rows, q < rows, SPLIT), mask=q < rows)
        if HESSIAN:
            tl.store(hessian + q, _added(bends, q, rows, q < rows, SPLIT), mask=q < rows)
    if VALUE:
        there = q < n_lists
        start = tl.load(offsets + q, mask=there, other=0)
        further = tl.maximum(tl.load(offsets + q + 1, mask=there, other=0) - start - 1, 0) // BLOCK
        total = _added(cost, q, slots, there, SPLIT)
        for tile in range(tl.max(further, 0).to(tl.int32)):
            at = n_lists + start // BLOCK + tile
            total += _added(cost, at, slots, there & (tile < further), SPLIT)
        tl.store(value + q, total, mask=there)


@jit
def _added(parts, at, step, there, SPLIT: tl.constexpr):  # type: ignore[no-untyped-def]
    """The sum of the numbers of all programs that share a tile."""
    total = tl.load(parts + at, mask=there, other=0.0)
    for share in tl.static_range(1, SPLIT):
        total += tl.load(parts + share * step + at, mask=there, other=0.0)
    return total


@jit
def _spread(scores, within, start, n, base2, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """The highest score of a list; whether no two tie and odds of all scores fit single precision."""
    high = tl.full([BLOCK], float("-inf"), scores.dtype.element_ty)
    low = tl.full([BLOCK], float("inf"), scores.dtype.element_ty)
    tied = tl.zeros([BLOCK], tl.float32)
    for at in range(0, n, BLOCK):
        i = at + tl.arange(0, BLOCK)
        high = tl.maximum(high, tl.load(scores + start + i, mask=i < n, other=float("-inf")))
        low = tl.minimum(low, tl.load(scores + start + i, mask=i < n, other=float("inf")))
        tied = tl.maximum(tied, tl.load(within + start + i, mask=i < n, other=0.0))
    top = tl.max(high, 0)
    return top, ((top - tl.min(low, 0)).to(tl.float32) * base2 < 50.0) & (tl.max(tied, 0) == 0.0)


@jit
def _taken(  # type: ignore[no-untyped-def]
    scores, labels, weights, discount, start, n, i, top, unit, base2,
    EXP: tl.constexpr, PLAIN: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """Scores (t where PLAIN), odds, gains, discounts and weights of documents.

    Beyond the list stands a document that is preferred to all, and so far ahead that none of its pairs
    counts; where that is not enough, its weight is 0.
    """
    there = i < n
    s = tl.load(scores + start + i, mask=there, other=0.0)
    e = tl.zeros(i.shape, tl.float32)
    if PLAIN:
        s = tl.where(there, (s - top).to(tl.float32) * base2, 127.0)
        e = tl.exp2(s)
    gain = tl.where(there, gain_at(labels, start + i, there, EXP) * unit, 2.0)
    d = tl.load(discount + start + i, mask=there, other=0.0)
    w = tl.where(there, 1.0, 0.0)
    if WEIGHTED:
        w = tl.load(weights + start + i, mask=there, other=0.0)
    return s, e, gain, d, w


@jit
def _tile(  # type: ignore[no-untyped-def]
    scores, labels, weights, discount, within, start, n, first, share, top, unit, base2,
    EXP: tl.constexpr, PLAIN: tl.constexpr, WEIGHTED: tl.constexpr, HESSIAN: tl.constexpr,
    VALUE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ONCE: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """Gradient and Hessian of the rows of a tile; and the cost of its pairs, by lane."""
    lane = tl.arange(0, 32)[None, :]
    i = first + 32 * tl.arange(0, ROWS)[:, None] + lane
    s_i, e_i, g_i, d_i, w_i = _taken(
        scores, labels, weights, discount, start, n, i, top, unit, base2, EXP, PLAIN, WEIGHTED
    )
    a_i = tl.load(within + start + i, mask=i < n, other=0.0)
    down = tl.zeros([ROWS, 32], tl.float32)
    bend = tl.zeros([ROWS, 32], tl.float32)
    here = tl.zeros([ROWS, 32], tl.float32)
    skipped = -1
    # The documents of the tile itself, each pair from one side: first those of the same lane, then those of
    # the next 15, and at half of the ring only from one half of the lanes.
    if ONCE:
        turn = tl.broadcast_to((lane + 1) % 32, [ROWS, 32])
        s, e, g, d, w = s_i, e_i, g_i, d_i, w_i
        up = tl.zeros([ROWS, 32], tl.float32)
        arch = tl.zeros([ROWS, 32], tl.float32)
        before = (tl.arange(0, ROWS)[:, None] < tl.arange(0, ROWS)[None, :])[:, :, None]
        down, bend, here, up, arch = _meet(
            s_i, e_i, g_i, d_i, w_i, a_i, s, e, g, d, w, before, base2,
            down, bend, here, up, arch, PLAIN, WEIGHTED, HESSIAN, VALUE, True, True,
        )  # fmt: skip
        for _ in range(15):
            s, e, g, d, w = _turned(s, e, g, d, w, turn, PLAIN, WEIGHTED, VALUE)
            up, arch = tl.gather(up, turn, 1), tl.gather(arch, turn, 1)
            down, bend, here, up, arch = _meet(
                s_i, e_i, g_i, d_i, w_i, a_i, s, e, g, d, w, before, base2,
                down, bend, here, up, arch, PLAIN, WEIGHTED, HESSIAN, VALUE, True, False,
            )  # fmt: skip
        s, e, g, d, w = _turned(s, e, g, d, w, turn, PLAIN, WEIGHTED, VALUE)
        up, arch = tl.gather(up, turn, 1), tl.gather(arch, turn, 1)
        down, bend, here, up, arch = _meet(
            s_i, e_i, g_i, d_i, w_i, a_i, s, e, g, d, w, (lane < 16)[:, None, :], base2,
            down, bend, here, up, arch, PLAIN, WEIGHTED, HESSIAN, VALUE, True, True,
        )  # fmt: skip
        # What the documents have added up on their way goes back to their rows.
        half = tl.broadcast_to((lane + 16) % 32, [ROWS, 32])
        down -= tl.gather(up, half, 1)
        if HESSIAN:
            bend += tl.gather(arch, half, 1)
        here *= 2.0  # others are met from both sides
        skipped = first
    # The documents of the other tiles, all around the ring; these add up nothing.
    shift = tl.broadcast_to((lane + 1) % 32, [COLUMNS, 32])
    none = tl.zeros([COLUMNS, 32], tl.float32)
    every = tl.full([1, 1, 1], 1, tl.int1)
    for low in range(share * 32 * COLUMNS, n, SPLIT * 32 * COLUMNS):
        if low != skipped:
            j = low + 32 * tl.arange(0, COLUMNS)[:, None] + lane
            s, e, g, d, w = _taken(
                scores, labels, weights, discount, start, n, j, top, unit, base2, EXP, PLAIN, WEIGHTED
            )
            for _ in range(32):
                down, bend, here, none, none = _meet(
                    s_i, e_i, g_i, d_i, w_i, a_i, s, e, g, d, w, every, base2,
                    down, bend, here, none, none, PLAIN, WEIGHTED, HESSIAN, VALUE, False, False,
                )  # fmt: skip
                s, e, g, d, w = _turned(s, e, g, d, w, shift, PLAIN, WEIGHTED, VALUE)
    if PLAIN:
        bend *= e_i
    return down, bend, 0.5 * tl.sum(here, 0)


@jit
def _turned(s, e, g, d, w, turn, PLAIN: tl.constexpr, WEIGHTED: tl.constexpr, VALUE: tl.constexpr):  # type: ignore[no-untyped-def]
    """The documents of the next lane."""
    if PLAIN:
        e = tl.gather(e, turn, 1)
    if VALUE or not PLAIN:
        s = tl.gather(s, turn, 1)
    if WEIGHTED or not PLAIN:
        w = tl.gather(w, turn, 1)
    return s, e, tl.gather(g, turn, 1), tl.gather(d, turn, 1), w


@jit
def _meet(  # type: ignore[no-untyped-def]
    s_i, e_i, g_i, d_i, w_i, a_i, s_j, e_j, g_j, d_j, w_j, keep, base2, down, bend, here, up, arch,
    PLAIN: tl.constexpr, WEIGHTED: tl.constexpr, HESSIAN: tl.constexpr, VALUE: tl.constexpr,
    BOTH: tl.constexpr, SOME: tl.constexpr,
):  # fmt: skip
    """One step: the rows of each lane with the documents there; sums of the rows, and of the documents too.

    x is the weight of a pair, > 0 where the row is the preferred one.
    """
    more = g_i[:, None, :] - g_j[None, :, :]
    swap = tl.abs(d_i[:, None, :] - d_j[None, :, :])
    if not PLAIN:
        swap = tl.where(s_i[:, None, :] == s_j[None, :, :], a_i[:, None, :], swap)
    x = more * swap
    if WEIGHTED or not PLAIN:
        x *= tl.where(more > 0, w_i[:, None, :], w_j[None, :, :])
    if SOME:
        x = tl.where(keep, x, 0.0)
    ahead = (s_i[:, None, :] - s_j[None, :, :]).to(tl.float32)
    if PLAIN:
        part = _inverse(e_i[:, None, :] + e_j[None, :, :])
        y = x * part
        lambda_ = y * tl.where(more > 0, e_j[None, :, :], e_i[:, None, :])
        steep = tl.abs(y) * part
        down -= tl.sum(lambda_, 1)
        if HESSIAN:
            bend += tl.sum(steep * e_j[None, :, :], 1)
        if BOTH:
            up -= tl.sum(lambda_, 0)
            if HESSIAN:
                arch += tl.sum(steep * e_i[:, None, :], 0)
        if VALUE:
            here += tl.sum(tl.abs(x) * softplus(tl.where(more > 0, -ahead, ahead)), 1)
    else:
        lambda_, steep, costs = pair_terms(x, base2 * ahead, HESSIAN, VALUE)
        down += tl.sum(lambda_, 1)
        if HESSIAN:
            bend += tl.sum(steep, 1)
        if BOTH:
            up += tl.sum(lambda_, 0)
            if HESSIAN:
                arch += tl.sum(steep, 0)
        if VALUE:
            here += tl.sum(costs, 1)
    return down, bend, here, up, arch


@jit
def _inverse(x):  # type: ignore[no-untyped-def]
    """1 / x in one instruction, accurate to a bit; 0 from 2^126 on."""
    if INTERPRETED:
        return tl.where(x < 8e37, 1.0 / x, 0.0)
    return tl.inline_asm_elementwise(
        "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )
