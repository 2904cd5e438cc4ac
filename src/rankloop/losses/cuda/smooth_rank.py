"""ApproxNDCG, ApproxAP and ApproxMRR on a device: smooth ranks and their lambdas, tile by tile."""

from __future__ import annotations

import math
from typing import Any

from rankloop._extras import require
from rankloop.losses.approx_ap import ApproxAP
from rankloop.losses.approx_mrr import ApproxMRR
from rankloop.losses.approx_ndcg import ApproxNDCG
from rankloop.losses.cuda.jit import jit, tl
from rankloop.losses.cuda.lists import BLOCK, WARPS, WIDTH, DeviceLists, list_sums, tile_of
from rankloop.losses.cuda.terms import normalised_gains, relevant_shares

__all__ = ["approx_ap", "approx_mrr", "approx_ndcg"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def approx_ndcg(chosen: ApproxNDCG, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    amounts, best = normalised_gains(lists, chosen.gain, None)
    none = torch.zeros_like(lists.labels)
    rank, _ = _ranks(lists, none, chosen.temperature)
    discount = 1.0 / torch.log2(1.0 + rank)
    value = list_sums(best - amounts * discount, lists.offsets)
    by_rank = amounts * discount**2 / ((1.0 + rank) * math.log(2.0))
    return value, *_lambdas(lists, none, chosen.temperature, by_rank, none)


def approx_ap(chosen: ApproxAP, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    hit = (lists.labels >= chosen.relevant).float()
    share = lists.mass(relevant_shares(lists, chosen.relevant))
    rank, hits = _ranks(lists, hit, chosen.temperature)
    precision = (1.0 + hits) / rank
    value = list_sums(share * (1.0 - precision), lists.offsets)
    return value, *_lambdas(lists, hit, chosen.temperature, share * precision / rank, -share / rank)


def approx_mrr(chosen: ApproxMRR, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    share = lists.mass(relevant_shares(lists, chosen.relevant))
    none = torch.zeros_like(lists.labels)
    rank, _ = _ranks(lists, none, chosen.temperature)
    value = list_sums(share * (1.0 - 1.0 / rank), lists.offsets)
    return value, *_lambdas(lists, none, chosen.temperature, share / rank**2, none)


def _ranks(lists: DeviceLists, hit: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    torch = require("torch", "neural")
    rank, hits = torch.ones_like(lists.labels), torch.zeros_like(lists.labels)
    _rank_kernel[lists.grid](
        lists.scores, hit, lists.offsets, lists.tile_list, lists.tile_ends, rank, hits, lists.n_lists,
        1.0 / temperature, BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return rank.double(), hits.double()


def _lambdas(
    lists: DeviceLists, hit: Tensor, temperature: float, by_rank: Tensor, by_hits: Tensor
) -> tuple[Tensor, Tensor]:
    torch = require("torch", "neural")
    gradient, hessian = torch.zeros_like(lists.labels), torch.zeros_like(lists.labels)
    _force_kernel[lists.grid](
        lists.scores, hit, by_rank.float(), by_hits.float(), lists.offsets, lists.tile_list, lists.tile_ends,
        gradient, hessian, lists.n_lists, 1.0 / temperature, BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    return gradient, hessian


@jit
def _rank_kernel(  # type: ignore[no-untyped-def]
    scores, hit, offsets, tile_list, tile_ends, rank, hits, n_lists, slope,
    BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    i = first + tl.arange(0, BLOCK)
    own = tl.load(scores + start + i, mask=i < n, other=0.0)[None, :]
    total = tl.zeros([BLOCK], tl.float32)
    counted = tl.zeros([BLOCK], tl.float32)
    for low in range(0, n, WIDTH):
        j = low + tl.arange(0, WIDTH)
        other = tl.load(scores + start + j, mask=j < n, other=0.0)[:, None]
        hit_j = tl.load(hit + start + j, mask=j < n, other=0.0)[:, None]
        gap = slope * (other - own).to(tl.float32)
        t = tl.exp(-tl.abs(gap))
        above = tl.where(gap > 0, 1.0, t) / (1.0 + t)
        above = tl.where((j < n)[:, None] & (i[None, :] != j[:, None]), above, 0.0)
        total += tl.sum(above, 0)
        counted += tl.sum(above * hit_j, 0)
    tl.store(rank + start + i, total + 1.0, mask=i < n)
    tl.store(hits + start + i, counted, mask=i < n)


@jit
def _force_kernel(  # type: ignore[no-untyped-def]
    scores, hit, by_rank, by_hits, offsets, tile_list, tile_ends, gradient, hessian, n_lists, slope,
    BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    i = first + tl.arange(0, BLOCK)
    own = tl.load(scores + start + i, mask=i < n, other=0.0)[None, :]
    hit_i = tl.load(hit + start + i, mask=i < n, other=0.0)[None, :]
    rank_i = tl.load(by_rank + start + i, mask=i < n, other=0.0)[None, :]
    hits_i = tl.load(by_hits + start + i, mask=i < n, other=0.0)[None, :]
    lambda_ = tl.zeros([BLOCK], tl.float32)
    bend = tl.zeros([BLOCK], tl.float32)
    for low in range(0, n, WIDTH):
        j = low + tl.arange(0, WIDTH)
        met = j < n
        other = tl.load(scores + start + j, mask=met, other=0.0)[:, None]
        hit_j = tl.load(hit + start + j, mask=met, other=0.0)[:, None]
        rank_j = tl.load(by_rank + start + j, mask=met, other=0.0)[:, None]
        hits_j = tl.load(by_hits + start + j, mask=met, other=0.0)[:, None]
        t = tl.exp(-tl.abs(slope * (other - own).to(tl.float32)))
        steep = t / ((1.0 + t) * (1.0 + t))
        steep = tl.where(met[:, None] & (i[None, :] != j[:, None]), steep, 0.0)
        theirs, ours = rank_j + hits_j * hit_i, rank_i + hits_i * hit_j
        lambda_ += tl.sum(steep * (theirs - ours), 0)
        bend += tl.sum(steep * (tl.abs(theirs) + tl.abs(ours)), 0)
    tl.store(gradient + start + i, slope * lambda_, mask=i < n)
    tl.store(hessian + start + i, slope * bend, mask=i < n)
