"""Triton kernels of a training step of an MLP.

A batch has whole tiles of rows (`TILE` divides their number), so that only columns are ever left out; tiles
from `filled` rows on, a number that only the device knows, are skipped. Sums over the rows of a batch go
through parts of it, which the optimizer adds up in order: the same batch gives the same bits.

Slopes are those of the scores: what the loss says of a row, its gradient, is a factor of all of them. It
comes in late, before the sums over the rows.
"""

from __future__ import annotations

from rankloop.lists.tensors.jit import jit, tl

__all__ = [
    "TILE",
    "adam_kernel",
    "factor_kernel",
    "first_kernel",
    "forward_kernel",
    "gather_kernel",
    "input_kernel",
    "pass_kernel",
    "slope_kernel",
    "weight_kernel",
]

TILE = 128  # rows


@jit
def gather_kernel(  # type: ignore[no-untyped-def]
    Z, labels, rows, out, grades, COLUMNS: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr
):
    """The features and labels of the rows of a batch."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = tl.load(rows + i)
    tl.store(grades + i, tl.load(labels + row))
    column = tl.arange(0, WIDE)[None, :]
    z = tl.load(Z + row[:, None] * COLUMNS + column, mask=column < COLUMNS, other=0.0)
    tl.store(out + i.to(tl.int64)[:, None] * COLUMNS + column, z, mask=column < COLUMNS)


@jit
def first_kernel(  # type: ignore[no-untyped-def]
    X, X_rest, W, W_rest, bias, H, filled, COLUMNS: tl.constexpr, WIDE: tl.constexpr, REST: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """What a layer of `WIDE` and `REST` inputs gives. A program keeps the weights of its columns."""
    low = tl.program_id(0) * BLOCK
    column = low + tl.arange(0, BLOCK)
    b = tl.load(bias + column, mask=column < COLUMNS, other=0.0).to(tl.float32)[None, :]
    w = tl.trans(W.load([low, 0]))
    if REST > 0:
        w_rest = tl.trans(W_rest.load([low, WIDE]))
    tiles = ((tl.load(filled) + ROWS - 1) // ROWS).to(tl.int32)
    for tile in tl.range(tl.program_id(1), tiles, tl.num_programs(1), num_stages=STAGES):
        total = tl.dot(X.load([tile * ROWS, 0]), w)
        if REST > 0:
            total = tl.dot(X_rest.load([tile * ROWS, WIDE]), w_rest, total)
        H.store([tile * ROWS, low], tl.maximum(total + b, 0.0).to(bias.dtype.element_ty))


@jit
def forward_kernel(  # type: ignore[no-untyped-def]
    X, W, bias, head, level, H, scores, filled, INNER: tl.constexpr, COLUMNS: tl.constexpr,
    SCORED: tl.constexpr, BIASED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr,
    TILED: tl.constexpr,
):  # fmt: skip
    """A tile of what a layer gives; the last layer has all columns of its rows and scores them."""
    row = tl.program_id(1) * ROWS
    scored = tl.zeros([ROWS], tl.float32)
    if row < tl.load(filled):
        if SCORED:
            for low in range(0, COLUMNS, BLOCK):
                h = _layer(X, W, bias, H, row, low, INNER, COLUMNS, ROWS, BLOCK, STEP, TILED)
                column = low + tl.arange(0, BLOCK)
                w = tl.load(head + column, mask=column < COLUMNS, other=0.0).to(tl.float32)
                scored += tl.sum(h.to(tl.float32) * w[None, :], 1)
            if BIASED:
                scored += tl.load(level).to(tl.float32)
        else:
            _layer(X, W, bias, H, row, tl.program_id(0) * BLOCK, INNER, COLUMNS, ROWS, BLOCK, STEP, TILED)
    if SCORED:
        tl.store(scores + row + tl.arange(0, ROWS), scored)


@jit
def _layer(  # type: ignore[no-untyped-def]
    X, W, bias, H, row, low, INNER: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr, STEP: tl.constexpr, TILED: tl.constexpr,
):  # fmt: skip
    """Some columns of what a layer gives, after its activation."""
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    for at in range(0, INNER, STEP):
        x = _read(X, row, at, 0, INNER, ROWS, STEP, TILED)
        total = tl.dot(x, tl.trans(_read(W, low, at, COLUMNS, INNER, BLOCK, STEP, TILED)), total)
    column = low + tl.arange(0, BLOCK)
    total += tl.load(bias + column, mask=column < COLUMNS, other=0.0).to(tl.float32)[None, :]
    h = tl.maximum(total, 0.0).to(bias.dtype.element_ty)
    _write(H, row, low, h, COLUMNS, ROWS, BLOCK, TILED)
    return h


@jit
def _read(  # type: ignore[no-untyped-def]
    X, row, column, DOWN: tl.constexpr, ACROSS: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr,
    TILED: tl.constexpr,
):  # fmt: skip
    """A tile of a matrix of ACROSS columns and DOWN rows (0: as many as wanted); zeros beyond it."""
    if TILED:
        tile = X.load([row, column])
    else:
        i, j = row + tl.arange(0, HIGH), column + tl.arange(0, WIDE)
        there = (j < ACROSS)[None, :]
        if DOWN > 0:
            there &= (i < DOWN)[:, None]
        tile = tl.load(X + i.to(tl.int64)[:, None] * ACROSS + j[None, :], mask=there, other=0.0)
    return tile


@jit
def _write(  # type: ignore[no-untyped-def]
    X, row, column, made, ACROSS: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr, TILED: tl.constexpr
):
    """The same the other way, all rows being there."""
    if TILED:
        X.store([row, column], made)
    else:
        i, j = row + tl.arange(0, HIGH), column + tl.arange(0, WIDE)
        tl.store(X + i.to(tl.int64)[:, None] * ACROSS + j[None, :], made, mask=(j < ACROSS)[None, :])


@jit
def slope_kernel(  # type: ignore[no-untyped-def]
    H, head, slope, COLUMNS: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr
):
    """The slope at the last layer, before its activation, which gave `H`."""
    column = tl.arange(0, WIDE)[None, :]
    at = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None] * COLUMNS + column
    w = tl.load(head + column, mask=column < COLUMNS, other=0.0)
    h = tl.load(H + at, mask=column < COLUMNS, other=0.0)
    tl.store(slope + at, tl.where(h > 0, w, 0.0).to(h.dtype), mask=column < COLUMNS)


@jit
def pass_kernel(  # type: ignore[no-untyped-def]
    slope, W, H, passed, filled, COLUMNS: tl.constexpr, INNER: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr, STEP: tl.constexpr, TILED: tl.constexpr,
):  # fmt: skip
    """A tile of the slope one layer below, before the activation there: `H` is what that gave."""
    row, column = tl.program_id(1) * ROWS, tl.program_id(0) * BLOCK
    if row < tl.load(filled):
        total = tl.zeros([ROWS, BLOCK], tl.float32)
        for low in range(0, COLUMNS, STEP):
            s = _read(slope, row, low, 0, COLUMNS, ROWS, STEP, TILED)
            total = tl.dot(s, _read(W, low, column, COLUMNS, INNER, STEP, BLOCK, TILED), total)
        h = _read(H, row, column, 0, INNER, ROWS, BLOCK, TILED)
        made = tl.where(h > 0, total, 0.0).to(h.dtype)
        _write(passed, row, column, made, INNER, ROWS, BLOCK, TILED)


@jit
def input_kernel(  # type: ignore[no-untyped-def]
    Z, gradient, count, out, filled, COLUMNS: tl.constexpr, MORE: tl.constexpr, WIDE: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Rows times their gradients, which follow as one column more; `MORE` columns are written."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)[None, :]
    g = _share(gradient, count, filled, i)[:, None]
    at = i.to(tl.int64)[:, None]
    z = tl.load(Z + at * COLUMNS + column, mask=column < COLUMNS, other=0.0).to(tl.float32)
    made = tl.where(column == COLUMNS, g, g * z)
    tl.store(out + at * MORE + column, made.to(out.dtype.element_ty), mask=column < MORE)


@jit
def factor_kernel(  # type: ignore[no-untyped-def]
    X, head, gradient, count, out, biases, heads, levels, size, filled, COLUMNS: tl.constexpr,
    LAST: tl.constexpr, BIASED: tl.constexpr, WIDE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Slopes times the factors of their rows, and the sums over one part of these: of the biases.

    For the last layer, `X` is what it gives, which has the slope of the head; sums of the head come along.
    """
    column = (tl.program_id(0) * WIDE + tl.arange(0, WIDE))[None, :]
    inside = column < COLUMNS
    total = tl.zeros([STEP, WIDE], tl.float32)
    above = tl.zeros([STEP, WIDE], tl.float32)
    level = tl.zeros([STEP], tl.float32)
    w = tl.load(head + column, mask=inside, other=0.0).to(tl.float32) if LAST else 0.0
    first, last = _steps_of(filled, STEP)
    for step in range(first, last):
        i = step * STEP + tl.arange(0, STEP)
        g = _share(gradient, count, filled, i)[:, None]
        at = i.to(tl.int64)[:, None] * COLUMNS + column
        x = tl.load(X + at, mask=inside & (i < tl.load(filled))[:, None], other=0.0).to(tl.float32)
        made = g * x
        if LAST:
            above += made
            made = tl.where(x > 0, g * w, 0.0)
            level += tl.sum(g, 1)
        total += made
        tl.store(out + at, made.to(out.dtype.element_ty), mask=inside)
    part = tl.program_id(1).to(tl.int64) * size
    tl.store(biases + part + column, tl.sum(total, 0)[None, :], mask=inside)
    if LAST:
        tl.store(heads + part + column, tl.sum(above, 0)[None, :], mask=inside)
        if BIASED and tl.program_id(0) == 0:
            tl.store(levels + part, tl.sum(level, 0))


@jit
def _share(gradient, count, filled, i):  # type: ignore[no-untyped-def]
    """What each row adds to the gradient of the mean over lists; nothing beyond the last list."""
    g = tl.load(gradient + i, mask=i < tl.load(filled), other=0.0)
    return (g / tl.load(count)).to(tl.float32)


@jit
def _steps_of(filled, STEP: tl.constexpr):  # type: ignore[no-untyped-def]
    """The first step of the rows of a part, and that after its last one."""
    steps = ((tl.load(filled) + STEP - 1) // STEP).to(tl.int32)
    part, parts = tl.program_id(1), tl.num_programs(1)
    return steps * part // parts, steps * (part + 1) // parts


@jit
def weight_kernel(  # type: ignore[no-untyped-def]
    slope, below, below_rest, weights, biases, size, filled, COLUMNS: tl.constexpr, INNER: tl.constexpr,
    BIASED: tl.constexpr, HIGH: tl.constexpr, WIDE: tl.constexpr, REST: tl.constexpr, STEP: tl.constexpr,
    TILED: tl.constexpr,
):  # fmt: skip
    """A tile of a layer's gradient from one part of the rows: of `WIDE` inputs, and `REST` more."""
    out, inner = tl.program_id(0) * HIGH, tl.program_id(2) * WIDE
    across: tl.constexpr = INNER + 8 * BIASED
    total = tl.zeros([HIGH, WIDE], tl.float32)
    if REST > 0:
        rest = tl.zeros([HIGH, REST], tl.float32)
    first, last = _steps_of(filled, STEP)
    for step in range(first, last):
        s = tl.trans(_read(slope, step * STEP, out, 0, COLUMNS, STEP, HIGH, TILED))
        total = tl.dot(s, _read(below, step * STEP, inner, 0, across, STEP, WIDE, TILED), total)
        if REST > 0:
            rest = tl.dot(s, _read(below_rest, step * STEP, WIDE, 0, across, STEP, REST, TILED), rest)
    part = tl.program_id(1).to(tl.int64) * size
    weights += part
    biases += part
    out += tl.arange(0, HIGH)
    _keep(total, weights, biases, out, inner + tl.arange(0, WIDE), COLUMNS, INNER, BIASED)
    if REST > 0:
        _keep(rest, weights, biases, out, WIDE + tl.arange(0, REST), COLUMNS, INNER, BIASED)


@jit
def _keep(  # type: ignore[no-untyped-def]
    total, weights, biases, out, inner, COLUMNS: tl.constexpr, INNER: tl.constexpr, BIASED: tl.constexpr
):
    """A tile of a gradient; where BIASED, the column after the last one is that of the biases."""
    there = (out < COLUMNS)[:, None]
    tl.store(weights + out[:, None] * INNER + inner[None, :], total, mask=there & (inner < INNER)[None, :])
    if BIASED:
        tl.store(biases + out[:, None] + 0 * inner[None, :], total, mask=there & (inner == INNER)[None, :])


@jit
def adam_kernel(  # type: ignore[no-untyped-def]
    weights, short, parts, mean, square, step, rate, begin, stop, size, beta1, beta2, epsilon, decay,
    DECOUPLED: tl.constexpr, PARTS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """A step of Adam, or of AdamW where the decay is decoupled; the weights in half precision too."""
    i = begin + tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    there = i < stop
    lr = tl.load(rate).to(tl.float32)
    turn = tl.load(step).to(tl.float32)
    w = tl.load(weights + i, mask=there, other=0.0)
    g = tl.load(parts + i, mask=there, other=0.0)
    for part in tl.static_range(1, PARTS):
        g += tl.load(parts + part * size + i, mask=there, other=0.0)
    if DECOUPLED:
        w *= 1.0 - lr * decay
    else:
        g += decay * w
    m = tl.load(mean + i, mask=there, other=0.0)
    v = tl.load(square + i, mask=there, other=0.0)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    left1 = 1.0 - tl.exp2(turn * tl.log2(beta1))
    left2 = 1.0 - tl.exp2(turn * tl.log2(beta2))
    w -= (lr / left1) * m / (tl.sqrt(v) / tl.sqrt(left2) + epsilon)
    tl.store(mean + i, m, mask=there)
    tl.store(square + i, v, mask=there)
    tl.store(weights + i, w, mask=there)
    tl.store(short + i, w.to(short.dtype.element_ty), mask=there)
