"""Orders of lists by drawn values, all samples in one launch: each document counts those above it."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.above_each import above_each
from rankloop.losses.cuda.checks import sound_list, sound_rows
from rankloop.losses.cuda.draws import uniform_at
from rankloop.losses.cuda.lists import BLOCK, WARPS, WIDTH, DeviceLists
from rankloop.losses.cuda.spans import programs, span_of
from rankloop.losses.kernels.draws import TIE_BITS, draw_key

__all__ = ["label_order", "noisy_orders"]

_MANY = 2**18  # rows from which tiles of 128 rows fill a device; below, tiles of 32

Tensor = Any


def label_order(lists: DeviceLists, seed: int) -> Tensor:
    """By rank the row within its list, by falling label; equal labels in a random order, as on the CPU."""
    torch = require("torch", "neural")
    rows, n_lists, limits = lists.n_documents, lists.n_lists, lists.limits
    order = torch.empty((1, rows), dtype=torch.int32, device=lists.labels.device)
    lowest, highest = (0.0, 0.0) if limits is None else (limits.lowest, limits.highest)
    tile = 4 if rows >= _MANY else 1
    _label_kernel[programs(n_lists, rows, 32 * tile, 1)](
        lists.scores, lists.labels, *lists.weights, lists.offsets, order, draw_key(seed),
        lists.offsets if limits is None else limits.good, rows, n_lists, lowest, highest, BITS=TIE_BITS,
        CHECKED=limits is not None, WEIGHTED=lists.weight is not None,
        LISTED=lists.query_weight is not None, ROWS=tile, num_warps=1,
    )  # fmt: skip
    if limits is not None:
        limits.checked()
    return order


def noisy_orders(lists: DeviceLists, values: Tensor) -> Tensor:
    """By sample and rank the row within its list, by falling value; equal values keep their order."""
    torch = require("torch", "neural")
    order = torch.empty(values.shape, dtype=torch.int32, device=values.device)
    grid = programs(lists.n_lists, lists.n_documents, BLOCK, 1)
    _order_kernel[(*grid, values.shape[0])](
        values, lists.offsets, order, lists.n_documents, lists.n_lists,
        BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return order


@jit
def _keys(labels, at, there, key, BITS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Labels as doubles, whose last bits single precision leaves at zero: the draw goes there."""
    label = tl.load(labels + at, mask=there, other=0.0).to(tl.float64)
    label = tl.where(tl.abs(label) <= 3e38, label, 0.0) + 0.0  # a number, and no minus zero
    draw = (uniform_at(key, tl.zeros([1], tl.int64), at) * (1 << BITS)).to(tl.int64)
    made = (label.to(tl.int64, bitcast=True) | ((1 << BITS) - 1 - draw)).to(tl.float64, bitcast=True)
    return tl.where(there, made, float("-inf"))


@jit
def _label_kernel(  # type: ignore[no-untyped-def]
    scores, labels, weights, by_list, offsets, order, key, good, rows, n_lists, lowest, highest,
    BITS: tl.constexpr, CHECKED: tl.constexpr, WEIGHTED: tl.constexpr, LISTED: tl.constexpr,
    ROWS: tl.constexpr,
):  # fmt: skip
    """Each row counts the keys above its own, which move from lane to lane; equal keys keep their order."""
    q, start, n, first = span_of(offsets, tl.program_id(0), n_lists, rows, 32 * ROWS)
    lane = tl.arange(0, 32)[None, :]
    i = first + 32 * tl.arange(0, ROWS)[:, None] + lane
    if CHECKED:
        s = tl.load(scores + start + i, mask=i < n, other=0.0)
        y = tl.load(labels + start + i, mask=i < n, other=0.0)
        right = sound_rows(s, y, weights, start + i, i < n, lowest, highest, WEIGHTED)
        _, _, sound = sound_list(offsets, by_list, q, n_lists, rows, LISTED)
        if tl.max(tl.max((~right).to(tl.int32), 1), 0) + (1 - sound.to(tl.int32)) > 0:
            tl.store(good, 0)
    if first < n:
        own = _keys(labels, start + i, i < n, key, BITS)
        if n > 32 * ROWS:
            above = _counted(labels, start, n, own, i, key, BITS, ROWS, True)
        else:
            above = _counted(labels, start, n, own, i, key, BITS, ROWS, False)
            # Each two documents of a list without equal keys have one above the other.
            if tl.sum(tl.sum(tl.where(i < n, above, 0), 1), 0) != n * (n - 1) // 2:
                above = _counted(labels, start, n, own, i, key, BITS, ROWS, True)
        tl.store(order + start + above, i, mask=i < n)


@jit
def _counted(  # type: ignore[no-untyped-def]
    labels, start, n, own, i, key, BITS: tl.constexpr, ROWS: tl.constexpr, TIES: tl.constexpr
):
    """How many keys of its list stand above each row; where TIES, equal ones that come earlier too."""
    lane = tl.arange(0, 32)[None, :]
    turn = tl.broadcast_to((lane + 1) % 32, [4, 32])
    above = tl.zeros([ROWS, 32], tl.int32)
    for low in range(0, n, 128):
        j = low + 32 * tl.arange(0, 4)[:, None] + lane
        other = _keys(labels, start + j, j < n, key, BITS)
        for move in range(32):  # noqa: B007
            stands = other[None, :, :] > own[:, None, :]
            if TIES:
                stands |= (other[None, :, :] == own[:, None, :]) & (j[None, :, :] < i[:, None, :])
                j = tl.gather(j, turn, 1)
            above += tl.sum(stands.to(tl.int32), 1)
            other = tl.gather(other, turn, 1)
    return above


@jit
def _order_kernel(  # type: ignore[no-untyped-def]
    values, offsets, order, rows, n_lists, BLOCK: tl.constexpr, WIDTH: tl.constexpr
):
    _, start, n, first = span_of(offsets, tl.program_id(0), n_lists, rows, BLOCK)
    if first >= n:
        return
    values += tl.program_id(1).to(tl.int64) * rows
    order += tl.program_id(1).to(tl.int64) * rows
    i = first + tl.arange(0, BLOCK)
    own = tl.load(values + start + i, mask=i < n, other=0.0)
    above, _ = above_each(values, values, start, n, first, own, own, i, False, BLOCK, WIDTH)
    tl.store(order + start + above.to(tl.int32), i, mask=i < n)
