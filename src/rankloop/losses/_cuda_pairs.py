"""The pairwise family on a device: one kernel, a tile of rows against all documents of its list.

Each document adds up its own side of every pair, so that no two programs write to one place: results are the
same every time, and nothing of size n × n is ever held. Lists are met in order of score: under a truncation
the rows below it meet only the documents above it.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.losses._cuda_jit import jit, tl
from rankloop.losses._cuda_lists import BLOCK, WARPS, DeviceLists, list_sums, tile_of

__all__ = ["HINGE", "LOGISTIC", "SQUARED_HINGE", "PairForm", "pair_forces"]

LOGISTIC, HINGE, SQUARED_HINGE = 0, 1, 2
_DCG, _AFFINE, _DROP, _DCG_AND_DROP, _OWN, _SIGN = range(6)
_NO_CUT = 2**30
_WIDTH = 32

Tensor = Any


class PairForm(NamedTuple):
    """How pairs weigh: `PairRule` of the CPU kernel, gains and swap terms by rank.

    Without alpha, beta and gamma the swap is that of DCG's discounts; `by_distance` leaves it out.
    """

    gain: Tensor
    factor: Tensor
    alpha: Tensor | None = None
    beta: Tensor | None = None
    gamma: Tensor | None = None
    drop: Tensor | None = None
    by_distance: bool = False
    own: bool = False
    sign: bool = False
    ties: bool = False
    shrink_gap: bool = False
    shrink_list: bool = False

    @property
    def kind(self) -> int:
        if self.sign or self.own:
            return _SIGN if self.sign else _OWN
        if self.alpha is not None:
            return _AFFINE
        if self.drop is None:
            return _DCG
        return _DROP if self.by_distance else _DCG_AND_DROP


def pair_forces(
    lists: DeviceLists,
    order: Tensor,
    ranked: Tensor,
    form: PairForm,
    *,
    sigma: float = 1.0,
    margin: float = 1.0,
    truncation: int | None = None,
    curve: int = LOGISTIC,
    curved: bool = True,
    valued: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Value, gradient and curvature; without `curved` or `valued` that part is left at zero.

    `ranked` are the scores in the given order.
    """
    torch = require("torch", "neural")
    like = {"dtype": torch.float32, "device": lists.scores.device}
    gradient = torch.zeros(lists.n_documents, **like)
    curvature = torch.zeros(lists.n_documents if curved else 1, **like)
    cost = torch.zeros(lists.n_documents if valued else 1, **like)
    size = torch.zeros(lists.n_documents if form.shrink_list else 1, **like)
    unused = gradient
    _pair_kernel[lists.grid](
        ranked, form.gain,
        unused if lists.weight is None else lists.weight,
        unused if form.alpha is None else form.alpha,
        unused if form.beta is None else form.beta,
        unused if form.gamma is None else form.gamma,
        unused if form.drop is None else form.drop,
        form.factor, order, lists.offsets, lists.tile_list, lists.tile_ends,
        gradient, curvature, cost, size, lists.n_lists, sigma, margin, truncation or _NO_CUT,
        KIND=form.kind, CURVE=curve, TIES=form.ties, WEIGHED=lists.weight is not None,
        SHRINK=form.shrink_gap, SIZED=form.shrink_list, CUT=truncation is not None,
        CURVED=curved, VALUED=valued, BLOCK=BLOCK, WIDTH=_WIDTH, num_warps=WARPS,
    )  # fmt: skip
    value = list_sums(cost, lists.offsets) if valued else torch.zeros(lists.n_lists, **like)
    if form.shrink_list:
        felt = 2.0 * list_sums(size, lists.offsets)
        scale = torch.where(felt > 0, torch.log1p(felt) / (log(2.0) * felt.clamp(min=1e-30)), 1.0)
        rows = lists.spread(scale)
        value, gradient = value * scale, gradient * rows
        curvature = curvature * rows if curved else curvature
    return value, gradient, curvature


@jit
def _discount(index):  # type: ignore[no-untyped-def]
    root = tl.rsqrt(tl.log2(index.to(tl.float32) + 2.0))
    return root * root


@jit
def _paid(x, ahead, CURVED: tl.constexpr, VALUED: tl.constexpr):  # type: ignore[no-untyped-def]
    """Force, curvature and cost of pairs weighing x, where the row is `ahead` (to base 2) of the other.

    x > 0: the row is the preferred one. 1 / (1 + e) is the square of a reciprocal root: one instruction.
    """
    behind = tl.where(x > 0, -ahead, ahead)
    e = tl.exp2(tl.minimum(behind, 120.0))
    root = tl.rsqrt(1.0 + e)
    right = root * root
    wrong = e * right
    force = -x * wrong
    bend = x
    cost = x
    if CURVED:
        bend = tl.abs(x) * (wrong * right)
    if VALUED:
        near = e * (1.44269504 - e * (0.72134752 - e * (0.48089835 - e * (0.36067376 - e * 0.28853901))))
        lost = tl.where(e < 0.05, near, tl.log2(1.0 + e)) + tl.maximum(behind - 120.0, 0.0)
        cost = tl.abs(x) * lost
    return force, bend, cost


@jit
def _pair_kernel(  # type: ignore[no-untyped-def]
    scores, gains, weights, alphas, betas, gammas, drops, factors, order, offsets, tile_list, tile_ends,
    gradient, curvature, cost, size, n_lists, sigma, margin, truncation,
    KIND: tl.constexpr, CURVE: tl.constexpr, TIES: tl.constexpr, WEIGHED: tl.constexpr,
    SHRINK: tl.constexpr, SIZED: tl.constexpr, CUT: tl.constexpr,
    CURVED: tl.constexpr, VALUED: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q = tl.load(tile_list + tl.program_id(0))
    if q >= n_lists:
        return
    start, n, first = tile_of(offsets, tile_ends, q, BLOCK)
    factor = tl.load(factors + q)
    base2 = sigma * 1.44269504
    i = first + tl.arange(0, BLOCK)
    there = i < n
    row = tl.load(order + start + i, mask=there, other=0)
    s_i = tl.load(scores + start + i, mask=there, other=0.0)[:, None]
    g_i = tl.load(gains + start + i, mask=there, other=0.0)[:, None]
    if WEIGHED:
        w_i = tl.load(weights + row, mask=there, other=0.0)[:, None]
    if KIND == 0 or KIND == 3:
        d_i = _discount(i)[:, None]
    if KIND == 1:
        alpha_i = tl.load(alphas + start + i, mask=there, other=0.0)[:, None]
        beta_i = tl.load(betas + start + i, mask=there, other=0.0)[:, None]
        gamma_i = tl.load(gammas + start + i, mask=there, other=0.0)[:, None]
    if SHRINK:
        shrinks = tl.load(scores + start) > tl.load(scores + start + n - 1)
    force_of = tl.zeros([BLOCK, WIDTH], tl.float32)
    bend_of = tl.zeros([BLOCK, WIDTH], tl.float32)
    paid_of = tl.zeros([BLOCK, WIDTH], tl.float32)
    felt_of = tl.zeros([BLOCK, WIDTH], tl.float32)
    stop = n
    if CUT:
        stop = tl.where(first < truncation, n, tl.minimum(n, truncation))
    stop = tl.where(factor != 0.0, stop, 0)
    for low in range(0, stop, WIDTH):
        j = low + tl.arange(0, WIDTH)
        met = j < n
        s_j = tl.load(scores + start + j, mask=met, other=0.0)[None, :]
        g_j = tl.load(gains + start + j, mask=met, other=0.0)[None, :]
        counts = met[None, :]
        if CUT:
            counts = counts & ((i[:, None] < truncation) | (j[None, :] < truncation))
        gap = (s_i - s_j).to(tl.float32)
        if KIND == 5:
            x = (g_i > g_j).to(tl.float32) - (g_i < g_j).to(tl.float32)
        elif KIND == 4:
            x = g_i + 0.0 * g_j
        else:
            if KIND == 1:
                alpha_j = tl.load(alphas + start + j, mask=met, other=0.0)[None, :]
                beta_j = tl.load(betas + start + j, mask=met, other=0.0)[None, :]
                gamma_j = tl.load(gammas + start + j, mask=met, other=0.0)[None, :]
                swap = tl.where(
                    i[:, None] < j[None, :], alpha_i - beta_i * gamma_j, alpha_j - beta_j * gamma_i
                ).to(tl.float32)
            if KIND == 0 or KIND == 3:
                d_j = _discount(j)[None, :]
                swap = tl.abs(d_i - d_j)
            if KIND == 2 or KIND == 3:
                far = tl.abs(i[:, None] - j[None, :]) - 1
                fall = tl.load(drops + far, mask=counts & there[:, None] & (far >= 0), other=0.0)
                swap = fall if KIND == 2 else swap + fall
            x = (g_i - g_j) * swap
        x = tl.where(counts, x, 0.0)
        if WEIGHED:
            other = tl.load(order + start + j, mask=met, other=0)
            w_j = tl.load(weights + other, mask=met, other=0.0)[None, :]
            x *= tl.where(x > 0, w_i, w_j)
        if SHRINK:
            narrow = tl.where(shrinks, 1.0 / (0.01 + tl.abs(gap)), 1.0)
            x *= narrow
        if CURVE == 0:
            if KIND == 4:  # the row's own amount, against the other's
                apart = counts & (i[:, None] != j[None, :])
                y = tl.where(apart, g_j + 0.0 * g_i, 0.0)
                x = tl.where(apart, x, 0.0)
                if WEIGHED:
                    y *= w_j
                pushed, bent, lost = _paid(-y, base2 * gap, CURVED, VALUED)
                force_of += pushed
                bend_of += bent
                paid_of += lost
            if TIES:  # half of a preference each way
                y = tl.where(counts & (g_i == g_j) & (i[:, None] != j[None, :]), 0.5, 0.0)
                y_i, y_j = y, y
                if WEIGHED:
                    y_i, y_j = y * w_i, y * w_j
                pushed, bent, lost = _paid(y_i, base2 * gap, CURVED, VALUED)
                force_of += pushed
                bend_of += bent
                paid_of += lost
                pushed, bent, lost = _paid(-y_j, base2 * gap, CURVED, VALUED)
                force_of += pushed
                bend_of += bent
                paid_of += lost
            pushed, bent, lost = _paid(x, base2 * gap, CURVED, VALUED)
            force_of += pushed
            if CURVED:
                bend_of += bent
            if VALUED:
                paid_of += lost
            if SIZED:
                felt_of += tl.abs(pushed)
        else:
            short = tl.maximum(margin - tl.where(x > 0, gap, -gap), 0.0)
            inside = tl.where(short > 0, x, 0.0)
            if CURVE == 1:
                force_of -= inside
                bend_of += tl.abs(inside)
                paid_of += tl.abs(inside) * short
            else:
                force_of -= 2.0 * inside * short
                bend_of += 2.0 * tl.abs(inside)
                paid_of += tl.abs(inside) * short * short
    force, bend, paid = tl.sum(force_of, 1), tl.sum(bend_of, 1), tl.sum(paid_of, 1)
    tl.store(gradient + row, force * factor * sigma, mask=there)
    if CURVED:
        tl.store(curvature + row, bend * factor * sigma * sigma, mask=there)
    if VALUED:  # each pair was met from both sides
        paid *= 0.5 * factor
        tl.store(cost + row, paid * 0.69314718 if CURVE == 0 else paid, mask=there)
    if SIZED:
        tl.store(size + row, 0.5 * tl.sum(felt_of, 1) * factor * sigma, mask=there)
