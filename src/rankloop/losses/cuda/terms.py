"""Gains, ranks and shares of ragged lists on a device, in double precision: the twins of `losses._swap`."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.losses.cuda.lists import DeviceLists, list_sums, order_of

__all__ = ["discounts", "gains_of", "inverse", "normalised_gains", "ranks", "relevant_shares"]

Tensor = Any


def gains_of(labels: Tensor, gain: str | tuple[float, ...]) -> Tensor:
    """What labels are worth, in their own precision."""
    torch = require("torch", "neural")
    if isinstance(gain, tuple):
        table = torch.tensor(gain, dtype=labels.dtype, device=labels.device)
        return table[labels.long().clamp(0, len(gain) - 1)]  # of labels that a check is about to refuse, too
    return labels if gain == "linear" else torch.exp2(labels) - 1.0


def inverse(totals: Tensor) -> Tensor:
    """1 / x, and 0 for 0."""
    torch = require("torch", "neural")
    return torch.where(totals > 0, 1.0 / totals, 0.0)


def ranks(lists: DeviceLists) -> Tensor:
    """1, 2, 3, ... in each list."""
    torch = require("torch", "neural")
    row = torch.arange(1, lists.n_documents + 1, dtype=torch.float64, device=lists.offsets.device)
    return row - lists.spread(lists.offsets[:-1])


def discounts(rank: Tensor) -> Tensor:
    torch = require("torch", "neural")
    return 1.0 / torch.log2(1.0 + rank)


def normalised_gains(
    lists: DeviceLists, gain: str | tuple[float, ...], cut: int | None
) -> tuple[Tensor, Tensor]:
    """Weighed gains over maxDCG, by document; and what each brings in the order that is best for them."""
    torch = require("torch", "neural")
    amounts, rank = gains_of(lists.labels.double(), gain), ranks(lists)
    discount = discounts(rank)
    if cut is not None:
        discount = discount * (rank <= cut)
    ideal = list_sums(amounts[order_of(lists, amounts)] * discount, lists.offsets, inverted=True)
    share = lists.mass(amounts) * lists.spread(ideal)
    order = order_of(lists, share)
    best = torch.empty_like(share)
    best[order] = share[order] * discount
    return share, best


def relevant_shares(lists: DeviceLists, relevant: float) -> Tensor:
    """1 / R for each of the R relevant documents of a list, 0 for the others."""
    hit = (lists.labels >= relevant).double()
    return hit * lists.spread(list_sums(hit, lists.offsets, inverted=True))
