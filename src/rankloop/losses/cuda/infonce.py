"""InfoNCE on a device: running log-sums over the order of the labels, in double precision."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.losses.cuda.blocks import log_of, log_scan, tied_blocks
from rankloop.losses.cuda.lists import DeviceLists, list_sums, order_of
from rankloop.losses.infonce import InfoNCE

__all__ = ["infonce"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def infonce(chosen: InfoNCE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    hit = (lists.labels >= chosen.relevance_threshold).float()
    warm = lists._replace(scores=lists.scores.double() / chosen.temperature, labels=hit)
    value, gradient, hessian = _against_lower(warm, lists.weighted(hit.double()))
    return value, gradient / chosen.temperature, hessian / chosen.temperature**2


def _against_lower(lists: DeviceLists, mass: Tensor) -> Parts:
    """As `losses.unique_softmax.against_lower`, all ranks at once."""
    torch = require("torch", "neural")
    blocks = tied_blocks(lists, order_of(lists, lists.labels), lists.labels)
    s, amount = lists.scores.double()[blocks.order], mass[blocks.order]
    race = torch.logaddexp(s, blocks.after(log_scan(s, lists.offsets, reverse=True)))
    heavy = log_of(amount)
    above = blocks.before(log_scan(heavy - race, lists.offsets))
    above2 = blocks.before(log_scan(heavy - 2.0 * race, lists.offsets))
    own, pull = torch.exp(s - race), torch.exp(s + above)
    hess = amount * own * (1.0 - own) + (pull - torch.exp(2.0 * s + above2)).clamp(min=0)
    gradient, hessian = blocks.back(pull - amount * (1.0 - own), hess)
    return list_sums(amount * (race - s), lists.offsets), gradient, hessian
