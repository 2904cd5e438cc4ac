"""Triton kernels of a training step of an MLP: what stands between its matrix products.

Sums over the rows of a batch go through parts of a fixed number of rows, which are added up in order: the same
batch gives the same bits.
"""

from rankloop.lists.tensors.jit import jit, tl

__all__ = ["adam_kernel", "gather_kernel", "head_kernel", "head_slope_kernel", "slope_kernel", "sums_kernel"]


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
    tl.store(out + i.to(tl.int64)[:, None] * COLUMNS + column, z, mask=there)


@jit
def head_kernel(  # type: ignore[no-untyped-def]
    H, weight, bias, scores, n, COLUMNS: tl.constexpr, WIDE: tl.constexpr, BIASED: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Scores from the last layer, in single precision."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDE)
    there = (i < n)[:, None] & (column < COLUMNS)[None, :]
    h = tl.load(H + i.to(tl.int64)[:, None] * COLUMNS + column[None, :], mask=there, other=0.0)
    w = tl.load(weight + column, mask=column < COLUMNS, other=0.0)
    scored = tl.sum(h.to(tl.float32) * w.to(tl.float32)[None, :], 1)
    if BIASED:
        scored += tl.load(bias).to(tl.float32)
    tl.store(scores + i, scored, mask=i < n)


@jit
def head_slope_kernel(  # type: ignore[no-untyped-def]
    H, weight, gradient, count, slope, parts, n, stride, COLUMNS: tl.constexpr, WIDE: tl.constexpr,
    STEP: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The slope at the last layer, before its activation; parts of the sums of that, of the head and its level."""
    column = tl.arange(0, WIDE)
    w = tl.load(weight + column, mask=column < COLUMNS, other=0.0).to(tl.float32)[None, :]
    scale = 1.0 / tl.load(count)
    sloped = tl.zeros([WIDE], tl.float32)
    headed = tl.zeros([WIDE], tl.float32)
    level = tl.zeros([STEP], tl.float32)
    for low in range(0, ROWS, STEP):
        i = tl.program_id(0) * ROWS + low + tl.arange(0, STEP)
        there = (i < n)[:, None] & (column < COLUMNS)[None, :]
        at = i.to(tl.int64)[:, None] * COLUMNS + column[None, :]
        h = tl.load(H + at, mask=there, other=0.0).to(tl.float32)
        g = (tl.load(gradient + i, mask=i < n, other=0.0) * scale).to(tl.float32)
        made = tl.where(h > 0, g[:, None] * w, 0.0)
        tl.store(slope + at, made.to(tl.bfloat16), mask=there)
        sloped += tl.sum(made, 0)
        headed += tl.sum(g[:, None] * h, 0)
        level += g
    at = parts + tl.program_id(0) * stride + column
    tl.store(at, sloped, mask=column < COLUMNS)
    tl.store(at + COLUMNS, headed, mask=column < COLUMNS)
    tl.store(parts + tl.program_id(0) * stride + 2 * COLUMNS, tl.sum(level, 0))


@jit
def slope_kernel(  # type: ignore[no-untyped-def]
    H, slope, parts, n, stride, COLUMNS: tl.constexpr, WIDE: tl.constexpr, STEP: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """A slope passes back through the activation, in place; parts of its sums."""
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    summed = tl.zeros([WIDE], tl.float32)
    for low in range(0, ROWS, STEP):
        i = tl.program_id(0) * ROWS + low + tl.arange(0, STEP)
        there = (i < n)[:, None] & (column < COLUMNS)[None, :]
        at = i.to(tl.int64)[:, None] * COLUMNS + column[None, :]
        h = tl.load(H + at, mask=there, other=0.0)
        made = tl.where(h > 0, tl.load(slope + at, mask=there, other=0.0), 0.0)
        tl.store(slope + at, made, mask=there)
        summed += tl.sum(made.to(tl.float32), 0)
    tl.store(parts + tl.program_id(0) * stride + column, summed, mask=column < COLUMNS)


@jit
def sums_kernel(parts, places, gradient, n_parts, stride, columns, WIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    """The sums of all parts, each to its place in the gradient."""
    column = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    there = column < columns
    total = tl.zeros([WIDE], tl.float32)
    for part in range(n_parts):
        total += tl.load(parts + part * stride + column, mask=there, other=0.0)
    place = tl.load(places + column, mask=there, other=-1)
    tl.store(gradient + place, total.to(tl.bfloat16), mask=there & (place >= 0))


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
