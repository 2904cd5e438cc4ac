"""LambdaRank under NDCG and DCG on a device in two launches: places, then pairs."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.gains import gains
from rankloop.losses.cuda.lists import DeviceLists
from rankloop.losses.cuda.places import place_kernel
from rankloop.losses.cuda.ring_kernel import joined_kernel, ring_kernel
from rankloop.losses.cuda.spans import programs
from rankloop.losses.lambdarank import LambdaRank

__all__ = ["ring_lambdas", "takes"]

_MANY = 2**18  # rows from which tiles of 128 rows fill a device; below, tiles of 32
_SPLIT = 4  # programs that share the documents which such a small tile meets: a long list is not waited for

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def takes(chosen: LambdaRank) -> bool:
    """Whether the loss is one of these: all pairs of lists, weighted by discounts and gains alone."""
    plain = chosen.truncation is None and not (chosen.norm_gap or chosen.norm_list)
    return plain and chosen.metric in ("ndcg", "dcg")


def ring_lambdas(chosen: LambdaRank, lists: DeviceLists, *, curved: bool, valued: bool) -> Parts:
    """Value, gradient and Hessian; without `curved` or `valued` that part is zero."""
    torch = require("torch", "neural")
    rows, n_lists, offsets = lists.n_documents, lists.n_lists, lists.offsets
    tile = 4 if rows >= _MANY else 1
    block = 32 * tile
    # Short lists leave most further tiles empty: a program looks at several of them.
    each = 8 if rows >= _MANY and rows < block * n_lists else 1
    grid = programs(n_lists, rows, block, each)
    split = 1 if tile == 4 else _SPLIT
    # One piece of memory for all between the launches, and one for the results.
    like = {"dtype": torch.float32, "device": lists.scores.device}
    slots, shares = n_lists + (grid[0] - n_lists) * each, split * rows * (split > 1)
    sizes = (rows, rows, n_lists, n_lists, split * slots, shares, shares * curved)
    discount, within, units, factors, cost, *apart = torch.empty(sum(sizes), **like).split(sizes)
    made = torch.empty(-(-rows // 4) * 4 * (1 + curved) + n_lists, **like)
    gradient, value = made[:rows], made[made.shape[0] - n_lists :]
    hessian = made[-(-rows // 4) * 4 :][:rows] if curved else gradient
    labels, exp = lists.labels, chosen.gain == "exp2"
    if not isinstance(chosen.gain, str):
        labels = gains(labels, chosen.gain)
    limits = lists.limits
    lowest, highest = (0.0, 0.0) if limits is None else (limits.lowest, limits.highest)
    place_kernel[grid](
        lists.scores, labels, *lists.weights, offsets, discount, within, units, factors,
        offsets if limits is None else limits.good, n_lists, rows, each, lowest, highest,
        EXP=exp, IDEAL=chosen.metric == "ndcg", CHECKED=limits is not None,
        WEIGHTED=lists.weight is not None, LISTED=lists.query_weight is not None, ROWS=tile, num_warps=1,
        maxnreg=80,
    )  # fmt: skip
    if limits is not None:
        limits.checked()
    ring_kernel[(*grid, split)](
        lists.scores, labels, lists.weights[0], discount, within, units, factors, offsets,
        *(apart if split > 1 else (gradient, hessian)), cost, n_lists, rows, each, chosen.sigma, EXP=exp,
        WEIGHTED=lists.weight is not None, HESSIAN=curved, VALUE=valued, ROWS=tile, COLUMNS=4, ONCE=tile == 4,
        SPLIT=split, num_warps=1, maxnreg=128,
    )  # fmt: skip
    if valued or split > 1:
        joined_kernel[(-(-max(n_lists, rows * (split > 1)) // 128),)](
            cost, *apart, offsets, value, gradient, hessian, n_lists, rows, slots,
            HESSIAN=curved, VALUE=valued, SPLIT=split, BLOCK=block, WIDTH=128, num_warps=1,
        )  # fmt: skip
    if not valued:
        value = value.zero_()
    return value, gradient, hessian if curved else value.new_zeros(1)
