"""Triton kernels of a training step of an MLP: all but its matrix products.

Sums over the rows of a batch go through parts of a fixed number of rows, which are added up in order: the
same batch gives the same bits.
"""

from __future__ import annotations

from rankloop.lists.tensors.jit import jit, tl

__all__ = [
    "adam_kernel",
    "first_kernel",
    "gather_kernel",
    "head_kernel",
    "head_slope_kernel",
    "slope_kernel",
    "sums_kernel",
]


@jit
def gather_kernel(  # type: ignore[no-untyped-def]
    Z, labels, rows, out, grades, n, COLUMNS: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr
):
    """The features and labels of the rows of a batch."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = tl.load(rows + i, mask=i < n, other=0)
    tl.store(grades + i, tl.load(labels + row, mask=i < n, other=0.0), mask=i < n)
    column = tl.arange(0, WIDE)[None, :]
    there = (i < n)[:, None] & (column < COLUMNS)
    z = tl.load(Z + row[:, None] * COLUMNS + column, mask=there, other=0.0)
    tl.store(out + i[:, None] * COLUMNS + column, z, mask=there)


@jit
def head_kernel(  # type: ignore[no-untyped-def]
    H, weight, bias, scores, n, COLUMNS: tl.constexpr, WIDE: tl.constexpr, BIASED: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Scores from the last layer, in single precision."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDE)
    there = (i < n)[:, None] & (column < COLUMNS)[None, :]
    h = tl.load(H + i[:, None] * COLUMNS + column[None, :], mask=there, other=0.0)
    w = tl.load(weight + column, mask=column < COLUMNS, other=0.0)
    scored = tl.sum(h.to(tl.float32) * w.to(tl.float32)[None, :], 1)
    if BIASED:
        scored += tl.load(bias).to(tl.float32)
    tl.store(scores + i, scored, mask=i < n)


@jit
def head_slope_kernel(  # type: ignore[no-untyped-def]
    H, weight, gradient, count, slope, biases, heads, levels, n, COLUMNS: tl.constexpr, WIDE: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """The slope at the last layer, before its activation; parts of the sums of that, and for the head."""
    p = tl.program_id(0)
    column = tl.arange(0, WIDE)
    w = tl.load(weight + column, mask=column < COLUMNS, other=0.0).to(tl.float32)[None, :]
    i = p * ROWS + tl.arange(0, ROWS)
    there = (i < n)[:, None] & (column < COLUMNS)[None, :]
    at = i[:, None] * COLUMNS + column[None, :]
    h = tl.load(H + at, mask=there, other=0.0).to(tl.float32)
    g = (tl.load(gradient + i, mask=i < n, other=0.0) / tl.load(count)).to(tl.float32)
    made = tl.where(h > 0, g[:, None] * w, 0.0)
    tl.store(slope + at, made.to(tl.bfloat16), mask=there)
    tl.store(biases + p * COLUMNS + column, tl.sum(made, 0), mask=column < COLUMNS)
    tl.store(heads + p * COLUMNS + column, tl.sum(g[:, None] * h, 0), mask=column < COLUMNS)
    tl.store(levels + p, tl.sum(g, 0))


@jit
def slope_kernel(  # type: ignore[no-untyped-def]
    H, slope, biases, n, COLUMNS: tl.constexpr, WIDE: tl.constexpr, ROWS: tl.constexpr
):
    """A slope passes back through the activation, in place; parts of its sums."""
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    there = (i < n)[:, None] & (column < COLUMNS)[None, :]
    at = i[:, None] * COLUMNS + column[None, :]
    h = tl.load(H + at, mask=there, other=0.0)
    made = tl.where(h > 0, tl.load(slope + at, mask=there, other=0.0), 0.0)
    tl.store(slope + at, made, mask=there)
    tl.store(
        biases + tl.program_id(0) * COLUMNS + column, tl.sum(made.to(tl.float32), 0), mask=column < COLUMNS
    )


@jit
def first_kernel(  # type: ignore[no-untyped-def]
    H, slope, Z, parts, biases, n, COLUMNS: tl.constexpr, FEATURES: tl.constexpr, WIDE: tl.constexpr,
    ROWS: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Parts of the gradient of the first layer: through its activation and times the features at once."""
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    feature = tl.arange(0, WIDE)
    total = tl.zeros([BLOCK, WIDE], tl.float32)
    summed = tl.zeros([BLOCK], tl.float32)
    for low in range(tl.program_id(1) * ROWS, tl.minimum(tl.program_id(1) * ROWS + ROWS, n), STEP):
        i = low + tl.arange(0, STEP)
        there = (i < n)[:, None] & (column < COLUMNS)[None, :]
        at = i[:, None] * COLUMNS + column[None, :]
        h = tl.load(H + at, mask=there, other=0.0)
        passed = tl.where(h > 0, tl.load(slope + at, mask=there, other=0.0), 0.0)
        z = tl.load(
            Z + i[:, None] * FEATURES + feature[None, :],
            mask=(i < n)[:, None] & (feature < FEATURES)[None, :],
            other=0.0,
        )
        total = tl.dot(tl.trans(passed), z, total)
        summed += tl.sum(passed.to(tl.float32), 0)
    at = column[:, None] * FEATURES + feature[None, :]
    there = (column < COLUMNS)[:, None] & (feature < FEATURES)[None, :]
    tl.store(parts + tl.program_id(1) * (COLUMNS * FEATURES) + at, total, mask=there)
    tl.store(biases + tl.program_id(1) * COLUMNS + column, summed, mask=column < COLUMNS)


@jit
def sums_kernel(  # type: ignore[no-untyped-def]
    parts, gradient, n_parts, columns, AT_ONCE: tl.constexpr, WIDE: tl.constexpr
):
    """The sums of all parts."""
    column = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    total = tl.zeros([WIDE], tl.float32)
    for low in range(0, n_parts, AT_ONCE):
        part = low + tl.arange(0, AT_ONCE)
        there = (part < n_parts)[:, None] & (column < columns)[None, :]
        total += tl.sum(tl.load(parts + part[:, None] * columns + column[None, :], mask=there, other=0.0), 0)
    tl.store(gradient + column, total.to(tl.bfloat16), mask=column < columns)


@jit
def adam_kernel(  # type: ignore[no-untyped-def]
    weights, short, gradient, mean, square, step, rate, n, beta1, beta2, epsilon, decay,
    DECOUPLED: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """A step of Adam, or of AdamW where the decay is decoupled; the weights in half precision too."""
    i = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    there = i < n
    lr = tl.load(rate).to(tl.float32)
    turn = tl.load(step).to(tl.float32)
    w = tl.load(weights + i, mask=there, other=0.0)
    g = tl.load(gradient + i, mask=there, other=0.0).to(tl.float32)
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
    tl.store(short + i, w.to(tl.bfloat16), mask=there)
