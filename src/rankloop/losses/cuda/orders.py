"""Orders of lists by given or drawn values, all samples in one launch: a document counts those above it.

A tile is any run of rows, whose lists it finds by itself, so that nothing has to be prepared.
"""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.draws import uniform_at
from rankloop.losses.cuda.lists import DeviceLists
from rankloop.losses.kernels.draws import draw_key

__all__ = ["label_order", "noisy_orders"]

_BLOCK, _WIDTH = 64, 32

Tensor = Any


def label_order(lists: DeviceLists, seed: int) -> Tensor:
    """By rank the row within its list, by falling label; equal labels in a random order, as on the CPU."""
    return _orders(lists, lists.labels[None], seed)


def noisy_orders(lists: DeviceLists, values: Tensor) -> Tensor:
    """By sample and rank the row within its list, by falling value; equal values keep their order."""
    return _orders(lists, values, None)


def _orders(lists: DeviceLists, values: Tensor, seed: int | None) -> Tensor:
    torch = require("torch", "neural")
    rows, order = lists.n_documents, torch.empty(values.shape, dtype=torch.int32, device=values.device)
    _order_kernel[(-(-rows // _BLOCK), len(values))](
        values, lists.offsets, order, draw_key(seed or 0), rows, lists.n_lists, lists.n_lists.bit_length(),
        DRAWN=seed is not None, BLOCK=_BLOCK, WIDTH=_WIDTH, num_warps=1,
    )  # fmt: skip
    return order


@jit
def _order_kernel(  # type: ignore[no-untyped-def]
    values, offsets, order, key, rows, n_lists, steps,
    DRAWN: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values += tl.program_id(1).to(tl.int64) * rows
    order += tl.program_id(1).to(tl.int64) * rows
    # The list of each row: the number of lists that end at or before it.
    q = tl.zeros([BLOCK], tl.int64)
    last = tl.zeros([BLOCK], tl.int64) + n_lists
    for _ in range(steps):
        middle = (q + last) // 2
        ended = (q < last) & (tl.load(offsets + 1 + middle, mask=middle < n_lists, other=rows) <= i)
        q, last = tl.where(ended, middle + 1, q), tl.where(ended, last, middle)
    there = (i < rows) & (q < n_lists)
    start = tl.load(offsets + q, mask=there, other=rows)
    stop = tl.load(offsets + q + 1, mask=there, other=0)
    own = tl.load(values + i, mask=there, other=0.0)
    # Count the documents of the row's own list that stand above it.
    above = tl.zeros([BLOCK], tl.float32)
    if DRAWN:
        draw = uniform_at(key, tl.zeros([1], tl.int64), i)
    for low in range(tl.min(start, 0), tl.max(stop, 0), WIDTH):
        j = low + tl.arange(0, WIDTH)
        other = tl.load(values + j, mask=j < rows, other=0.0)[:, None]
        first = j[:, None] < i[None, :]
        if DRAWN:
            met = uniform_at(key, tl.zeros([1], tl.int64), j)[:, None]
            first = (met < draw[None, :]) | ((met == draw[None, :]) & first)
        higher = (other > own[None, :]) | ((other == own[None, :]) & first)
        beside = (j[:, None] >= start[None, :]) & (j[:, None] < stop[None, :])
        above += tl.sum(tl.where(higher & beside, 1.0, 0.0), 0)
    tl.store(order + start + above.to(tl.int64), (i - start).to(tl.int32), mask=there)
