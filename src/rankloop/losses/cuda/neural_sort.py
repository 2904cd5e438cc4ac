"""PiRank on a device: the smooth sort is computed again in every pass and never stored.

As `kernels.neural_sort`, in order of score. A pass adds up the kernel K[r, j] of rank r and document j over
its rows or its columns, a tile at a time; what lies between two passes is one number a document. Logits are
taken in double precision, since they grow with the length of a list.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.lists.tensors.discount import discount
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.blocks import running_sums, tied_blocks
from rankloop.losses.cuda.lists import BLOCK, WARPS, DeviceLists, list_max, list_sums, order_of, tile_of
from rankloop.losses.cuda.terms import inverse, normalised_gains, ranks
from rankloop.losses.pirank import PiRank

__all__ = ["pirank"]

_EVERY = 2**30
_WIDTH = 8  # doubles take two registers

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


class _Kernel(NamedTuple):
    """K[r, j] = exp(slope (logit[r, j] - logit[r, r])), logit[r, j] = factor[r] s[j] - spread[j]."""

    lists: DeviceLists
    scores: Tensor
    spread: Tensor
    factor: Tensor
    signs: Tensor  # how many documents score lower, less how many higher
    slope: float
    limit: int  # ranks that count

    def times(self, by_document: Tensor) -> Tensor:
        """By rank: the sum over documents of K x."""
        torch, lists = require("torch", "neural"), self.lists
        made = torch.zeros_like(self.scores)
        _row_kernel[lists.grid](
            self.scores, self.spread, self.factor, by_document, made, lists.offsets, lists.tile_list,
            lists.tile_ends, lists.n_lists, self.slope * 1.4426950408889634, self.limit,
            BLOCK=BLOCK, WIDTH=_WIDTH, num_warps=WARPS,
        )  # fmt: skip
        return made

    def back(self, by_rank: Tensor, *shares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """By document: the sums over ranks of K z and of (factor - signs) K z; and Hessian.

        `shares` are the scales of rows and columns, the gains, and what each rank holds of them.
        """
        torch, lists = require("torch", "neural"), self.lists
        total, moment = torch.zeros_like(self.scores), torch.zeros_like(self.scores)
        hess = torch.zeros_like(self.scores)
        _column_kernel[lists.grid](
            self.scores, self.spread, self.factor, self.signs, by_rank, *(shares or (hess,) * 4),
            total, moment, hess, lists.offsets, lists.tile_list, lists.tile_ends, lists.n_lists,
            self.slope * 1.4426950408889634, self.limit,
            HESSIAN=bool(shares), BLOCK=BLOCK, WIDTH=_WIDTH, num_warps=WARPS,
        )  # fmt: skip
        return total, moment, hess


def pirank(chosen: PiRank, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch, offsets, k = require("torch", "neural"), lists.offsets, chosen.k
    amounts, best = normalised_gains(lists, chosen.gain, k)
    scores = lists.scores.double()
    scores = scores - lists.spread(list_max(scores, offsets))
    blocks = tied_blocks(lists, order_of(lists, scores), scores)
    s, y, rank = scores[blocks.order], amounts[blocks.order], ranks(lists)
    at_rank = discount(rank)
    if k is not None:
        at_rank = torch.where(rank <= k, at_rank, 0.0)
    factor = lists.spread(offsets.diff()) + 1.0 - 2.0 * rank
    above = running_sums(s, offsets)
    spread = 2.0 * above - lists.spread(list_sums(s, offsets)) - s + factor * s
    signs = (blocks.stop - blocks.end - (blocks.begin - blocks.first)).double()
    kernel = _Kernel(lists, s, spread, factor, signs, 1.0 / chosen.temperature, _EVERY if k is None else k)

    one = torch.ones_like(s)
    u = inverse(kernel.times(one))
    held = kernel.times(y)
    value = list_sums(best, offsets) - list_sums(at_rank * u * held, offsets)
    total, moment, hess = kernel.back(-at_rank * u, u, one, y, u * held)
    mean, mean_moment, _ = kernel.back(at_rank * held * u**2)  # through the sums of rows
    by_logit, by_score = y * total + mean, y * moment + mean_moment

    higher = blocks.before(running_sums(by_logit, offsets), 0.0)
    lower = blocks.after(running_sums(by_logit, offsets, reverse=True), 0.0)
    gradient, hessian = blocks.back(kernel.slope * (by_score + higher - lower), kernel.slope * hess)
    return value, gradient, torch.maximum(hessian, gradient.abs())


@jit
def _row_kernel(  # type: ignore[no-untyped-def]
    scores, spread, factor, given, made, offsets, tile_list, tile_ends, n_lists, slope, limit,
    BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    if first >= limit:
        return
    r = first + tl.arange(0, BLOCK)
    row = tl.load(factor + start + r, mask=r < n, other=0.0)
    high = row * tl.load(scores + start + r, mask=r < n, other=0.0)
    high -= tl.load(spread + start + r, mask=r < n, other=0.0)
    total = tl.zeros([BLOCK], tl.float64)
    for low in range(0, n, WIDTH):
        j = low + tl.arange(0, WIDTH)
        s = tl.load(scores + start + j, mask=j < n, other=0.0)[:, None]
        far = tl.load(spread + start + j, mask=j < n, other=0.0)[:, None]
        x = tl.load(given + start + j, mask=j < n, other=0.0)[:, None]
        lag = tl.maximum((slope * (high[None, :] - (row[None, :] * s - far))).to(tl.float32), 0.0)
        total += tl.sum(tl.exp2(-lag).to(tl.float64) * x, 0)
    tl.store(made + start + r, total, mask=(r < n) & (r < limit))


@jit
def _column_kernel(  # type: ignore[no-untyped-def]
    scores, spread, factor, signs, given, us, vs, gains, helds, total, moment, hess, offsets, tile_list,
    tile_ends, n_lists, slope, limit, HESSIAN: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    j = first + tl.arange(0, BLOCK)
    s = tl.load(scores + start + j, mask=j < n, other=0.0)[None, :]
    far = tl.load(spread + start + j, mask=j < n, other=0.0)[None, :]
    sign = tl.load(signs + start + j, mask=j < n, other=0.0)[None, :]
    if HESSIAN:
        v = tl.load(vs + start + j, mask=j < n, other=0.0)[None, :]
        y = tl.load(gains + start + j, mask=j < n, other=0.0)[None, :]
    summed = tl.zeros([BLOCK], tl.float64)
    weighted = tl.zeros([BLOCK], tl.float64)
    hess_sum = tl.zeros([BLOCK], tl.float64)
    for low in range(0, tl.minimum(n, limit), WIDTH):
        r = low + tl.arange(0, WIDTH)
        met = (r < n) & (r < limit)
        row = tl.load(factor + start + r, mask=met, other=0.0)[:, None]
        own = tl.load(scores + start + r, mask=met, other=0.0)[:, None]
        level = tl.load(spread + start + r, mask=met, other=0.0)[:, None]
        z = tl.load(given + start + r, mask=met, other=0.0)[:, None]
        lag = tl.maximum((slope * ((row * own - level) - (row * s - far))).to(tl.float32), 0.0)
        kernel = tl.exp2(-lag).to(tl.float64)
        part = kernel * z
        summed += tl.sum(part, 0)
        weighted += tl.sum((row - sign) * part, 0)
        if HESSIAN:
            u = tl.load(us + start + r, mask=met, other=0.0)[:, None]
            held = tl.load(helds + start + r, mask=met, other=0.0)[:, None]
            share = u * kernel * v
            steps = tl.abs(row - sign) + 1.0
            # z is minus the discount times u.
            part = -z * kernel * v * tl.abs(y - held)
            hess_sum += tl.sum(part * tl.maximum(1.0 - share, 0.0) * steps, 0)
    tl.store(total + start + j, summed, mask=j < n)
    tl.store(moment + start + j, weighted, mask=j < n)
    if HESSIAN:
        tl.store(hess + start + j, hess_sum, mask=j < n)
