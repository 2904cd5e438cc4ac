"""Means over the places of tied documents on a device, for a metric in which only places count: one launch.

A tile without a tie reads its neighbours and stops there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.lists.tensors.discount_of import discount_of
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.lists import BLOCK, WARPS, DeviceLists, tile_of

__all__ = ["DISCOUNT", "RANK", "SHARE", "PlaceMeans", "place_means"]

DISCOUNT, RANK, SHARE = range(3)  # what a place brings: 1 / log2(1 + rank), -rank, 1 / truncation above it
_EVERY = 2**30

Tensor = Any


class PlaceMeans(NamedTuple):
    """By rank: what its tie's places bring on average, all of them and those above the truncation (0 below).

    `within` is the mean difference of two places of the tie, 0 where both lie below the truncation; `share`
    the share of the tie above it; `reach`, by list, the ranks whose tie has one.
    """

    mean: Tensor
    within: Tensor
    above: Tensor
    share: Tensor
    reach: Tensor


def place_means(lists: DeviceLists, ranked: Tensor, brings: int, truncation: int | None) -> PlaceMeans:
    """`ranked` are the scores by rank. Without a truncation, mean and within alone, in single precision."""
    torch = require("torch", "neural")
    kind = torch.float32 if truncation is None else torch.float64
    made = torch.empty(2 if truncation is None else 4, lists.n_documents, dtype=kind, device=ranked.device)
    mean, within = made[0], made[1]
    above, share = (mean, within) if truncation is None else (made[2], made[3])
    reach = lists.offsets if truncation is None else torch.zeros_like(lists.offsets)
    _means_kernel[lists.grid](
        ranked, lists.offsets, lists.tile_list, lists.tile_ends, mean, within, above, share, reach,
        lists.n_lists, _EVERY if truncation is None else min(truncation, _EVERY), BRINGS=brings,
        CUT=truncation is not None, BLOCK=BLOCK, WIDTH=8, num_warps=WARPS,
    )  # fmt: skip
    return PlaceMeans(mean, within, above, share, reach)


@jit
def _brought(place, cut, BRINGS: tl.constexpr):  # type: ignore[no-untyped-def]
    """What each place (from 0) brings, in double precision."""
    rank = place.to(tl.float64) + 1.0
    if BRINGS == 0:
        return discount_of(rank)
    if BRINGS == 1:
        return -rank
    return tl.where(place < cut, 1.0 / (rank * 0.0 + cut), 0.0)


@jit
def _tie_ends(ranked, start, n, own, i, there):  # type: ignore[no-untyped-def]
    """The first place of each row's tie and one past its last, by halving: scores fall."""
    begin, high = i * 0, i
    end, last = i + 1, i * 0 + n
    left = n
    while left > 0:
        middle = (begin + high) // 2
        s = tl.load(ranked + start + middle, mask=there & (begin < high), other=0.0)
        higher = s > own
        open_ = there & (begin < high)
        begin = tl.where(open_ & higher, middle + 1, begin)
        high = tl.where(open_ & ~higher, middle, high)
        middle = (end + last) // 2
        open_ = there & (end < last)
        same = tl.load(ranked + start + middle, mask=open_, other=0.0) >= own
        end = tl.where(open_ & same, middle + 1, end)
        last = tl.where(open_ & ~same, middle, last)
        left = left // 2
    return begin, end


@jit
def _means_kernel(  # type: ignore[no-untyped-def]
    ranked, offsets, tile_list, tile_ends, means, withins, aboves, shares, reaches, n_lists, cut,
    BRINGS: tl.constexpr, CUT: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    i = first + tl.arange(0, BLOCK)
    there = i < n
    own = tl.load(ranked + start + i, mask=there, other=0.0)
    before = tl.load(ranked + start + i - 1, mask=there & (i > 0), other=0.0)
    after = tl.load(ranked + start + i + 1, mask=i + 1 < n, other=0.0)
    tied = (there & (i > 0) & (own == before)) | ((i + 1 < n) & (own == after))
    # A document alone has its own place.
    mean = _brought(i, cut, BRINGS)
    within = mean * 0.0
    above = tl.where(i < cut, mean, 0.0)
    share = tl.where(i < cut, 1.0, 0.0).to(tl.float64)
    end = i + 1
    if tl.max(tied.to(tl.int32), 0) > 0:
        begin, end = _tie_ends(ranked, start, n, own, i, there)
        # Sums over the places of each tie, those above the truncation apart; second ones weigh by place.
        every = tl.zeros([BLOCK], tl.float64)
        upper = tl.zeros([BLOCK], tl.float64)
        moment = tl.zeros([BLOCK], tl.float64)
        lowest, highest = tl.min(tl.where(there, begin, n), 0), tl.max(tl.where(there, end, 0), 0)
        one = tl.max(tl.where(there, begin, 0), 0) == lowest
        # All rows of the tile in one tie: one sum for all of them.
        for low in range(lowest, tl.where(one, highest, lowest), BLOCK):
            j = low + tl.arange(0, BLOCK)
            part = tl.where(j < highest, _brought(j, cut, BRINGS), 0.0)
            every += tl.sum(part, 0)
            part = tl.where(j < cut, part, 0.0)
            upper += tl.sum(part, 0)
            moment += tl.sum(part * (j - lowest).to(tl.float64), 0)
        # Several ties: each row picks the places of its own.
        for low in range(lowest, tl.where(one, lowest, highest), WIDTH):
            j = low + tl.arange(0, WIDTH)
            brought = _brought(j, cut, BRINGS)[:, None]
            inside = (j[:, None] >= begin[None, :]) & (j[:, None] < end[None, :])
            part = tl.where(inside, brought, 0.0)
            every += tl.sum(part, 0)
            part = tl.where(j[:, None] < cut, part, 0.0)
            upper += tl.sum(part, 0)
            moment += tl.sum(part * (j[:, None] - begin[None, :]).to(tl.float64), 0)
        size = (end - begin).to(tl.float64)
        counted = tl.minimum(tl.maximum(cut - begin, 0), end - begin).to(tl.float64)
        # Place p above the truncation gains on those after it and loses to those before it.
        pairs = 0.5 * size * (size - 1.0)
        gap = (size - 1.0) * upper - 2.0 * moment - counted * (every - upper)
        within = tl.where(pairs > 0, gap / tl.where(pairs > 0, pairs, 1.0), 0.0)
        mean = every / size
        above = upper / size
        share = counted / size
    tl.store(means + start + i, mean, mask=there)
    tl.store(withins + start + i, within, mask=there)
    if CUT:
        tl.store(aboves + start + i, above, mask=there)
        tl.store(shares + start + i, share, mask=there)
        # Only the tile that holds the last place above the truncation knows how far its tie reaches.
        edge = tl.minimum(cut, n) - 1
        if (edge >= first) & (edge < first + BLOCK):
            tl.store(reaches + q, tl.max(tl.where(there & (share > 0), end, 0), 0).to(tl.int64))
