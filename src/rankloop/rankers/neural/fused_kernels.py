"""Triton kernels of a training step of an MLP.

A batch has whole tiles of rows (`TILE` divides their number), so that only columns are ever left out. Sums
over the rows of a batch go through parts of it, which the optimizer adds up in order: the same batch gives
the same bits.
"""

from __future__ import annotations

from rankloop.lists.tensors.jit import jit, tl

__all__ = [
    "TILE",
    "adam_kernel",
    "forward_kernel",
    "gather_kernel",
    "head_kernel",
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
def forward_kernel(  # type: ignore[no-untyped-def]
    X, W, bias, head, level, H, scores, INNER: tl.constexpr, COLUMNS: tl.constexpr, SCORED: tl.constexpr,
    BIASED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr, TILED: tl.constexpr,
):  # fmt: skip
    """A tile of what a layer gives; the last layer has all columns of its rows and scores them."""
    row = tl.program_id(1) * ROWS
    if SCORED:
        scored = tl.zeros([ROWS], tl.float32)
        for low in range(0, COLUMNS, BLOCK):
            h = _layer(X, W, bias, H, row, low, INNER, COLUMNS, ROWS, BLOCK, STEP, TILED)
            column = low + tl.arange(0, BLOCK)
            w = tl.load(head + column, mask=column < COLUMNS, other=0.0).to(tl.float32)
            scored += tl.sum(h.to(tl.float32) * w[None, :], 1)
        if BIASED:
            scored += tl.load(level).to(tl.float32)
        tl.store(scores + row + tl.arange(0, ROWS), scored)
    else:
        _layer(X, W, bias, H, row, tl.program_id(0) * BLOCK, INNER, COLUMNS, ROWS, BLOCK, STEP, TILED)


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
    H, head, gradient, count, slope, COLUMNS: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr
):
    """The slope at the last layer, before its activation."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDE)
    w = tl.load(head + column, mask=column < COLUMNS, other=0.0).to(tl.float32)
    g = (tl.load(gradient + i) / tl.load(count)).to(tl.float32)
    at = i.to(tl.int64)[:, None] * COLUMNS + column[None, :]
    h = tl.load(H + at, mask=(column < COLUMNS)[None, :], other=0.0)
    made = tl.where(h > 0, g[:, None] * w[None, :], 0.0)
    tl.store(slope + at, made.to(slope.dtype.element_ty), mask=(column < COLUMNS)[None, :])


@jit
def pass_kernel(  # type: ignore[no-untyped-def]
    slope, W, H, passed, COLUMNS: tl.constexpr, INNER: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr, STEP: tl.constexpr, TILED: tl.constexpr,
):  # fmt: skip
    """A tile of the slope one layer below, before the activation there: `H` is what that gave."""
    row, column = tl.program_id(1) * ROWS, tl.program_id(0) * BLOCK
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    for low in range(0, COLUMNS, STEP):
        s = _read(slope, row, low, 0, COLUMNS, ROWS, STEP, TILED)
        total = tl.dot(s, _read(W, low, column, COLUMNS, INNER, STEP, BLOCK, TILED), total)
    h = _read(H, row, column, 0, INNER, ROWS, BLOCK, TILED)
    made = tl.where(h > 0, total, 0.0).to(h.dtype)
    _write(passed, row, column, made, INNER, ROWS, BLOCK, TILED)


@jit
def weight_kernel(  # type: ignore[no-untyped-def]
    slope, below, weights, biases, size, each, COLUMNS: tl.constexpr, INNER: tl.constexpr,
    HIGH: tl.constexpr, WIDE: tl.constexpr, STEP: tl.constexpr, TILED: tl.constexpr,
):  # fmt: skip
    """A tile of the gradient of a layer's weights from one part of the rows, and of its biases."""
    out, inner = tl.program_id(0) * HIGH, tl.program_id(1) * WIDE
    part = tl.program_id(2)
    total = tl.zeros([HIGH, WIDE], tl.float32)
    summed = tl.zeros([STEP, HIGH], tl.float32)
    for i in range(part * each, part * each + each, STEP):
        s = _read(slope, i, out, 0, COLUMNS, STEP, HIGH, TILED)
        x = _read(below, i, inner, 0, INNER, STEP, WIDE, TILED)
        total = tl.dot(tl.trans(s), x, total)
        summed += s.to(tl.float32)
    out += tl.arange(0, HIGH)
    inner += tl.arange(0, WIDE)
    weights += part.to(tl.int64) * size
    there = (out < COLUMNS)[:, None] & (inner < INNER)[None, :]
    tl.store(weights + out[:, None] * INNER + inner[None, :], total, mask=there)
    if tl.program_id(1) == 0:
        tl.store(biases + part.to(tl.int64) * size + out, tl.sum(summed, 0), mask=out < COLUMNS)


@jit
def head_kernel(  # type: ignore[no-untyped-def]
    H, gradient, count, heads, levels, size, each, COLUMNS: tl.constexpr, BIASED: tl.constexpr,
    WIDE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """The gradient of the head from one part of the rows."""
    column = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    part = tl.program_id(1).to(tl.int64)
    total = tl.zeros([STEP, WIDE], tl.float32)
    level = tl.zeros([STEP], tl.float32)
    for low in range(0, each, STEP):
        i = part * each + low + tl.arange(0, STEP)
        inside = low + tl.arange(0, STEP) < each
        g = (tl.load(gradient + i, mask=inside, other=0.0) / tl.load(count)).to(tl.float32)
        there = inside[:, None] & (column < COLUMNS)[None, :]
        h = tl.load(H + i[:, None] * COLUMNS + column[None, :], mask=there, other=0.0)
        total += g[:, None] * h.to(tl.float32)
        level += g
    tl.store(heads + part * size + column, tl.sum(total, 0), mask=column < COLUMNS)
    if BIASED and tl.program_id(0) == 0:
        tl.store(levels + part * size, tl.sum(level, 0))


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
