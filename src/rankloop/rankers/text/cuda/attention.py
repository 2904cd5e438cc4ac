"""Attention within packed sequences: a block of tokens against all tokens of its sequence.

Sequences of texts are short, so that a block of 64 wastes less than the 128 of kernels for long ones. Each
program writes the gradients of its own tokens, first as keys and then as queries: the result is the same
every time, and nothing is of size n x n.
"""

from typing import Any

import torch
from torch import Tensor

from rankloop.lists.tensors.jit import jit, tl
from rankloop.rankers.text.packed import Packed

__all__ = ["attended", "attended_back"]

_BLOCK, _WARPS = 64, 4
_BASE2 = 1.44269504


def attended(qkv: Tensor, heads: int, packed: Packed) -> tuple[Tensor, Tensor]:
    """What each token sees, tokens x width, and by head and token the logarithm of its sum of weights.

    `qkv` is tokens x 3 width.
    """
    tokens, width = qkv.shape[0], qkv.shape[1] // 3
    seen = qkv.new_empty(tokens, width)
    sums = torch.empty(heads, tokens, dtype=torch.float32, device=qkv.device)
    _forward[_grid(packed, heads)](
        qkv, packed.edges, seen, sums, (width // heads) ** -0.5 * _BASE2, tokens, **_constants(width, heads)
    )
    return seen, sums


def attended_back(
    upstream: Tensor, qkv: Tensor, seen: Tensor, sums: Tensor, heads: int, packed: Packed
) -> Tensor:
    """The gradient of `qkv`."""
    tokens, width = seen.shape
    made = torch.empty_like(qkv)
    _backward[_grid(packed, heads)](
        qkv, packed.edges, seen, sums, upstream, made, (width // heads) ** -0.5, tokens,
        **_constants(width, heads),
    )  # fmt: skip
    return made


def _grid(packed: Packed, heads: int) -> tuple[int, int, int]:
    return len(packed.lengths), heads, -(-packed.longest // _BLOCK)


def _constants(width: int, heads: int) -> dict[str, Any]:
    return {"HEADS": heads, "WIDTH": width // heads, "BLOCK": _BLOCK, "num_warps": _WARPS}


@jit
def _tile(values, start, i, n, step, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """Rows i of a sequence, `step` apart; zeros beyond its end."""
    at = (start + i).to(tl.int64)[:, None] * step + tl.arange(0, WIDTH)[None, :]
    return tl.load(values + at, mask=(i < n)[:, None], other=0.0)


@jit
def _write(values, made, start, i, n, step, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    at = (start + i).to(tl.int64)[:, None] * step + tl.arange(0, WIDTH)[None, :]
    tl.store(values + at, made.to(values.dtype.element_ty), mask=(i < n)[:, None])


@jit
def _sequence(edges):  # type: ignore[no-untyped-def]
    """Start and length of the sequence of this program; the longest, which are last, begin first."""
    q = tl.num_programs(0) - 1 - tl.program_id(0)
    start = tl.load(edges + q)
    return start, tl.load(edges + q + 1) - start


@jit
def _forward(  # type: ignore[no-untyped-def]
    qkv, edges, seen, sums, scale, tokens,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    start, n = _sequence(edges)
    head = tl.program_id(1)
    first = tl.program_id(2) * BLOCK
    if first >= n:
        return
    i = first + tl.arange(0, BLOCK)
    query = qkv + head * WIDTH
    key, value = query + HEADS * WIDTH, query + 2 * HEADS * WIDTH
    own = _tile(query, start, i, n, 3 * HEADS * WIDTH, WIDTH)
    high = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    made = tl.zeros([BLOCK, WIDTH], tl.float32)
    for low in range(0, n, BLOCK):
        j = low + tl.arange(0, BLOCK)
        fit = tl.dot(own, tl.trans(_tile(key, start, j, n, 3 * HEADS * WIDTH, WIDTH))) * scale
        fit = tl.where((j < n)[None, :], fit, float("-inf"))
        higher = tl.maximum(high, tl.max(fit, 1))
        share = tl.exp2(fit - higher[:, None])
        shrunk = tl.exp2(high - higher)
        total = total * shrunk + tl.sum(share, 1)
        met = _tile(value, start, j, n, 3 * HEADS * WIDTH, WIDTH)
        made = made * shrunk[:, None] + tl.dot(share.to(met.dtype), met)
        high = higher
    _write(seen + head * WIDTH, made / total[:, None], start, i, n, HEADS * WIDTH, WIDTH)
    tl.store(sums + head.to(tl.int64) * tokens + start + i, high + tl.log2(total), mask=i < n)


@jit
def _backward(  # type: ignore[no-untyped-def]
    qkv, edges, seen, sums, upstream, made, scale, tokens,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    start, n = _sequence(edges)
    head = tl.program_id(1)
    first = tl.program_id(2) * BLOCK
    if first >= n:
        return
    base2 = scale * 1.44269504
    step = HEADS * WIDTH
    query = qkv + head * WIDTH
    key, value = query + step, query + 2 * step
    sums += head.to(tl.int64) * tokens + start
    seen += head * WIDTH
    upstream += head * WIDTH
    i = first + tl.arange(0, BLOCK)
    # These tokens as keys, met by all queries.
    own_key = _tile(key, start, i, n, 3 * step, WIDTH)
    own_value = _tile(value, start, i, n, 3 * step, WIDTH)
    of_key = tl.zeros([BLOCK, WIDTH], tl.float32)
    of_value = tl.zeros([BLOCK, WIDTH], tl.float32)
    for low in range(0, n, BLOCK):
        j = low + tl.arange(0, BLOCK)
        met = _tile(query, start, j, n, 3 * step, WIDTH)
        up = _tile(upstream, start, j, n, step, WIDTH)
        level = tl.sum(up.to(tl.float32) * _tile(seen, start, j, n, step, WIDTH).to(tl.float32), 1)
        fit = tl.dot(met, tl.trans(own_key)) * base2
        share = tl.exp2(fit - tl.load(sums + j, mask=j < n, other=float("inf"))[:, None])
        of_value += tl.dot(tl.trans(share.to(up.dtype)), up)
        slope = share * (tl.dot(up, tl.trans(own_value)) - level[:, None])
        of_key += tl.dot(tl.trans(slope.to(met.dtype)), met)
    # The same tokens as queries, which meet all keys.
    own = _tile(query, start, i, n, 3 * step, WIDTH)
    up = _tile(upstream, start, i, n, step, WIDTH)
    level = tl.sum(up.to(tl.float32) * _tile(seen, start, i, n, step, WIDTH).to(tl.float32), 1)
    whole = tl.load(sums + i, mask=i < n, other=float("inf"))
    of_query = tl.zeros([BLOCK, WIDTH], tl.float32)
    for low in range(0, n, BLOCK):
        j = low + tl.arange(0, BLOCK)
        met = _tile(key, start, j, n, 3 * step, WIDTH)
        fit = tl.dot(own, tl.trans(met)) * base2
        share = tl.where((j < n)[None, :], tl.exp2(fit - whole[:, None]), 0.0)
        slope = share * (tl.dot(up, tl.trans(_tile(value, start, j, n, 3 * step, WIDTH))) - level[:, None])
        of_query += tl.dot(slope.to(met.dtype), met)
    made += head * WIDTH
    _write(made, of_query * scale, start, i, n, 3 * step, WIDTH)
    _write(made + step, of_key * scale, start, i, n, 3 * step, WIDTH)
    _write(made + 2 * step, of_value, start, i, n, 3 * step, WIDTH)
