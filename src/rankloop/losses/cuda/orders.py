"""Orders of lists by drawn values, all samples in one launch: each document counts those above it."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.above_each import above_each
from rankloop.losses.cuda.draws import uniform_at
from rankloop.losses.cuda.lists import BLOCK, WARPS, WIDTH, DeviceLists, tile_of
from rankloop.losses.kernels.draws import TIE_BITS, draw_key

__all__ = ["label_order", "noisy_orders"]

_ROWS = 512

Tensor = Any


def label_order(lists: DeviceLists, seed: int) -> Tensor:
    """By rank the row within its list, by falling label; equal labels in a random order, as on the CPU."""
    torch = require("torch", "neural")
    keys = torch.empty(1, lists.n_documents, dtype=torch.float64, device=lists.labels.device)
    _key_kernel[(-(-lists.n_documents // _ROWS),)](
        lists.labels, keys, draw_key(seed), lists.n_documents, BITS=TIE_BITS, ROWS=_ROWS
    )
    return noisy_orders(lists, keys)


def noisy_orders(lists: DeviceLists, values: Tensor) -> Tensor:
    """By sample and rank the row within its list, by falling value; equal values keep their order."""
    torch = require("torch", "neural")
    order = torch.empty(values.shape, dtype=torch.int32, device=values.device)
    _order_kernel[(*lists.grid, len(values))](
        values, lists.offsets, lists.tile_list, lists.tile_ends, order, lists.n_documents, lists.n_lists,
        BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return order


@jit
def _key_kernel(labels, keys, key, rows, BITS: tl.constexpr, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Labels as doubles, whose last bits single precision leaves at zero: the draw goes there."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    label = tl.load(labels + i, mask=i < rows, other=0.0).to(tl.float64) + 0.0  # no minus zero
    draw = (uniform_at(key, tl.zeros([1], tl.int64), i) * (1 << BITS)).to(tl.int64)
    made = label.to(tl.int64, bitcast=True) | ((1 << BITS) - 1 - draw)
    tl.store(keys + i, made.to(tl.float64, bitcast=True), mask=i < rows)


@jit
def _order_kernel(  # type: ignore[no-untyped-def]
    values, offsets, tile_list, tile_ends, order, rows, n_lists, BLOCK: tl.constexpr, WIDTH: tl.constexpr
):
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    values += tl.program_id(1).to(tl.int64) * rows
    order += tl.program_id(1).to(tl.int64) * rows
    i = first + tl.arange(0, BLOCK)
    own = tl.load(values + start + i, mask=i < n, other=0.0)
    above, _ = above_each(values, values, start, n, first, own, own, i, False, BLOCK, WIDTH)
    tl.store(order + start + above.to(tl.int32), i, mask=i < n)
