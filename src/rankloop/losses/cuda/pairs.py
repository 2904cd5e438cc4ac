"""The pairwise losses on a device: the weights of pairs, and the call of the one kernel."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.losses.cuda.lists import BLOCK, WARPS, WIDTH, DeviceLists, list_sums
from rankloop.losses.cuda.pair_kernel import pair_kernel

__all__ = ["HINGE", "LOGISTIC", "SQUARED_HINGE", "PairForm", "finished", "pair_lambdas"]

LOGISTIC, HINGE, SQUARED_HINGE = range(3)
_DCG, _AFFINE, _DROP, _SWAP_AND_DROP, _OWN, _SIGN = range(6)

Tensor = Any


class PairForm(NamedTuple):
    """The weights of pairs (`PairRule` of the CPU kernel, gains and swap terms by rank), and their costs.

    Without alpha, beta and gamma the swap is that of DCG's discounts; with `drop` alone that of distances.
    `drop` goes in steps of one half, by the distance of `middle`, twice the mean rank of a tie.
    """

    gain: Tensor
    factor: Tensor
    discount: Tensor | None = None
    alpha: Tensor | None = None
    beta: Tensor | None = None
    gamma: Tensor | None = None
    drop: Tensor | None = None
    middle: Tensor | None = None
    within: Tensor | None = None
    share: Tensor | None = None
    either: Tensor | None = None
    reach: Tensor | None = None
    own: bool = False
    sign: bool = False
    ties: bool = False
    shrink_gap: bool = False
    shrink_list: bool = False
    sigma: float = 1.0
    margin: float = 1.0
    curve: int = LOGISTIC

    @property
    def kind(self) -> int:
        if self.sign or self.own:
            return _SIGN if self.sign else _OWN
        if self.drop is not None:
            return _DROP if self.alpha is None else _SWAP_AND_DROP
        return _DCG if self.alpha is None else _AFFINE


def pair_lambdas(
    lists: DeviceLists,
    order: Tensor,
    ranked: Tensor,
    form: PairForm,
    *,
    curved: bool = True,
    valued: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Value, gradient and Hessian; without `curved` or `valued` that part is left at zero.

    `ranked` are the scores in the given order.
    """
    torch = require("torch", "neural")
    like = {"dtype": torch.float32, "device": lists.scores.device}
    # One piece of memory, cut so that every part begins at a multiple of 16 bytes.
    made = torch.zeros(1 + curved + valued + form.shrink_list, -(-lists.n_documents // 4) * 4, **like)
    parts = iter(made[:, : lists.n_documents].unbind())
    gradient = unused = next(parts)
    hessian, cost, size = (next(parts) if asked else unused for asked in (curved, valued, form.shrink_list))
    columns = (
        form.discount, lists.weight, form.alpha, form.beta, form.gamma, form.drop, form.middle,
        form.within, form.share, form.either, form.reach,
    )  # fmt: skip
    pair_kernel[lists.grid](
        ranked, form.gain, *(unused if column is None else column for column in columns),
        form.factor, order, lists.offsets, lists.tile_list, lists.tile_ends,
        gradient, hessian, cost, size, lists.n_lists, form.sigma, form.margin,
        KIND=form.kind, CURVE=form.curve, TIES=form.ties, TIED=form.within is not None,
        CHANCED=form.reach is not None and form.kind in (_DROP, _SWAP_AND_DROP, _OWN),
        WEIGHTED=lists.weight is not None, SHRINK=form.shrink_gap, SIZED=form.shrink_list,
        CUT=form.reach is not None, HESSIAN=curved, VALUE=valued, BLOCK=BLOCK, WIDTH=WIDTH, num_warps=WARPS,
    )  # fmt: skip
    value = list_sums(cost, lists.offsets) if valued else torch.zeros(lists.n_lists, **like)
    total = list_sums(size, lists.offsets) if form.shrink_list else None
    return finished(lists, (value, gradient, hessian if curved else None), total)


def finished(
    lists: DeviceLists, parts: tuple[Tensor, Tensor, Tensor | None], size: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The parts, scaled by LightGBM's log2(1 + 2 S) / 2 S where the lambdas of each list sum to S."""
    torch = require("torch", "neural")
    value, gradient, hessian = parts
    if size is not None:
        twice = 2.0 * size
        scale = torch.where(twice > 0, torch.log1p(twice) / (log(2.0) * twice.clamp(min=1e-30)), 1.0)
        rows = lists.spread(scale)
        value, gradient = value * scale, gradient * rows
        hessian = None if hessian is None else hessian * rows
    return value, gradient, torch.zeros(1, device=value.device) if hessian is None else hessian
