"""Triplet margin on a device: the negative of each document, and what it feels from all who have it."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.losses.cuda.blocks import Blocks, sums_by, tied_blocks
from rankloop.losses.cuda.jit import jit, tl
from rankloop.losses.cuda.lists import BLOCK, WARPS, WIDTH, DeviceLists, list_sums, order_of, tile_of
from rankloop.losses.triplet import Triplet

__all__ = ["triplet"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def triplet(chosen: Triplet, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    blocks = tied_blocks(lists, order_of(lists, lists.labels), lists.labels)
    s = lists.scores.double()[blocks.order]
    find = _semihard if chosen.negative == "semihard" else _hardest
    rival = find(lists, blocks, s)  # by rank, and -1 where there is no lower label
    has = rival >= 0
    short = chosen.margin - s + s[rival.clamp(min=0)]
    weight = lists.mass(torch.ones_like(lists.scores).double())[blocks.order]
    push = torch.where(has & (short > 0), weight, 0.0)
    pushed = sums_by(torch.where(has, rival, len(s)), push, len(s))
    gradient, hessian = blocks.back(pushed - push, pushed + push)
    return list_sums(push * short, lists.offsets), gradient, hessian


def _hardest(lists: DeviceLists, blocks: Blocks, s: Tensor) -> Tensor:
    """The highest of all lower labels."""
    torch = require("torch", "neural")
    highest = torch.zeros_like(blocks.begin)
    _highest_kernel[(lists.n_lists,)](s, lists.offsets, highest, WIDTH=128)
    return blocks.after(highest, -1).long()


def _semihard(lists: DeviceLists, blocks: Blocks, s: Tensor) -> Tensor:
    """The highest lower label that scores below, or the lowest of all; of equal ones as the CPU has it."""
    torch = require("torch", "neural")
    at = torch.arange(len(s), device=s.device)
    met = torch.empty_like(at)  # from low labels up, and in a label as they come
    met[blocks.stop - blocks.end + at - blocks.begin + blocks.first] = at
    rising = tied_blocks(lists, order_of(lists, -s[met]), -s[met])
    by_score = met[rising.order]
    place, below = (
        torch.empty_like(at),
        torch.empty_like(at),
    )  # among rising scores, and of the first equal one
    place[by_score], below[by_score] = at - rising.first, rising.begin - rising.first
    found = torch.full_like(at, -1)
    _semihard_kernel[lists.grid](
        place, below, blocks.end, lists.offsets, lists.tile_list, lists.tile_ends, found, lists.n_lists,
        BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return torch.where(found >= 0, by_score[(blocks.first + found).clamp(min=0)], -1)


@jit
def _semihard_kernel(  # type: ignore[no-untyped-def]
    place, below, ends, offsets, tile_list, tile_ends, found, n_lists,
    BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The place of the negative of each row, among those who come after the end of its label."""
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    i = first + tl.arange(0, BLOCK)
    limit = tl.load(below + start + i, mask=i < n, other=0).to(tl.int32)[None, :]
    end = (tl.load(ends + start + i, mask=i < n, other=start + n) - start).to(tl.int32)
    best = tl.full([BLOCK], -1, tl.int32)
    least = tl.full([BLOCK], 2147483647, tl.int32)
    for low in range(first, n, WIDTH):  # only later ranks have lower labels
        j = low + tl.arange(0, WIDTH)
        at = tl.load(place + start + j, mask=j < n, other=0).to(tl.int32)[:, None]
        lower = (j[:, None] >= end[None, :]) & (j < n)[:, None]
        best = tl.maximum(best, tl.max(tl.where(lower & (at < limit), at, -1), 0))
        least = tl.minimum(least, tl.min(tl.where(lower, at, 2147483647), 0))
    chosen = tl.where(best >= 0, best, least)
    tl.store(found + start + i, tl.where(chosen == 2147483647, -1, chosen), mask=i < n)


@jit
def _higher(score, at, other, other_at):  # type: ignore[no-untyped-def]
    """The higher of two and where it is; of equal ones the first."""
    climbs = other > score
    return tl.where(climbs, other, score), tl.where(climbs, other_at, at)


@jit
def _highest_kernel(values, offsets, made, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """Where the highest of all values from each place to the end of its list is."""
    q = tl.program_id(0)
    start = tl.load(offsets + q)
    n = (tl.load(offsets + q + 1) - start).to(tl.int32)
    most = tl.full([WIDTH], float("-inf"), tl.float64)
    most_at = tl.zeros([WIDTH], tl.int64)
    for low in range(0, n, WIDTH):
        k = low + tl.arange(0, WIDTH)
        at = start + n - 1 - k
        x = tl.load(values + at, mask=k < n, other=float("-inf"))
        x, x_at = tl.associative_scan((x, at), 0, _higher)
        most, most_at = _higher(most, most_at, x, x_at)
        tl.store(made + at, most_at, mask=k < n)
        last = k == low + WIDTH - 1
        most_at = tl.zeros([WIDTH], tl.int64) + tl.sum(tl.where(last, most_at, 0), 0)
        most = tl.zeros([WIDTH], tl.float64) + tl.max(most, 0)
