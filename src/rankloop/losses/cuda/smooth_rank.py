"""ApproxNDCG on a device: smooth ranks and their lambdas, tile by tile."""

from __future__ import annotations

import math
from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.discount import discount
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.approx_ndcg import ApproxNDCG
from rankloop.losses.cuda.lists import BLOCK, WARPS, WIDTH, DeviceLists, list_sums, tile_of
from rankloop.losses.cuda.terms import normalised_gains

__all__ = ["approx_ndcg"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def approx_ndcg(chosen: ApproxNDCG, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    amounts, best = normalised_gains(lists, chosen.gain, None)
    rank = _ranks(lists, chosen.temperature)
    at_rank = discount(rank)
    value = list_sums(best - amounts * at_rank, lists.offsets)
    slope = amounts * at_rank**2 / ((1.0 + rank) * math.log(2.0))
    return value, *_lambdas(lists, chosen.temperature, slope)


def _ranks(lists: DeviceLists, temperature: float) -> Tensor:
    torch = require("torch", "neural")
    rank = torch.ones_like(lists.labels)
    _rank_kernel[lists.grid](
        lists.scores, lists.offsets, lists.tile_list, lists.tile_ends, rank, lists.n_lists,
        1.0 / temperature, BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return rank.double()


def _lambdas(lists: DeviceLists, temperature: float, by_rank: Tensor) -> tuple[Tensor, Tensor]:
    torch = require("torch", "neural")
    gradient, hessian = torch.zeros_like(lists.labels), torch.zeros_like(lists.labels)
    _lambda_kernel[lists.grid](
        lists.scores, by_rank.float(), lists.offsets, lists.tile_list, lists.tile_ends,
        gradient, hessian, lists.n_lists, 1.0 / temperature, BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return gradient, hessian


@jit
def _rank_kernel(  # type: ignore[no-untyped-def]
    scores, offsets, tile_list, tile_ends, rank, n_lists, slope, BLOCK: tl.constexpr, WIDTH: tl.constexpr
):
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    i = first + tl.arange(0, BLOCK)
    own = tl.load(scores + start + i, mask=i < n, other=0.0)[None, :]
    total = tl.zeros([BLOCK], tl.float32)
    for low in range(0, n, WIDTH):
        j = low + tl.arange(0, WIDTH)
        other = tl.load(scores + start + j, mask=j < n, other=0.0)[:, None]
        gap = slope * (other - own).to(tl.float32)
        t = tl.exp(-tl.abs(gap))
        above = tl.where(gap > 0, 1.0, t) / (1.0 + t)
        above = tl.where((j < n)[:, None] & (i[None, :] != j[:, None]), above, 0.0)
        total += tl.sum(above, 0)
    tl.store(rank + start + i, total + 1.0, mask=i < n)


@jit
def _lambda_kernel(  # type: ignore[no-untyped-def]
    scores, by_rank, offsets, tile_list, tile_ends, gradient, hessian, n_lists, slope,
    BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    i = first + tl.arange(0, BLOCK)
    own = tl.load(scores + start + i, mask=i < n, other=0.0)[None, :]
    rank_i = tl.load(by_rank + start + i, mask=i < n, other=0.0)[None, :]
    lambda_ = tl.zeros([BLOCK], tl.float32)
    hess = tl.zeros([BLOCK], tl.float32)
    for low in range(0, n, WIDTH):
        j = low + tl.arange(0, WIDTH)
        other = tl.load(scores + start + j, mask=j < n, other=0.0)[:, None]
        rank_j = tl.load(by_rank + start + j, mask=j < n, other=0.0)[:, None]
        t = tl.exp(-tl.abs(slope * (other - own).to(tl.float32)))
        steep = t / ((1.0 + t) * (1.0 + t))
        steep = tl.where((j < n)[:, None] & (i[None, :] != j[:, None]), steep, 0.0)
        lambda_ += tl.sum(steep * (rank_j - rank_i), 0)
        hess += tl.sum(steep * (tl.abs(rank_j) + tl.abs(rank_i)), 0)
    tl.store(gradient + start + i, slope * lambda_, mask=i < n)
    tl.store(hessian + start + i, slope * hess, mask=i < n)
