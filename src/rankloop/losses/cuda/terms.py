"""Ranks and normalised gains of ragged lists on a device, in double precision, as in `kernels.swap`."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.discount import discount
from rankloop.lists.tensors.gains import gains
from rankloop.losses.cuda.lists import DeviceLists, list_sums, order_of

__all__ = ["inverse", "normalised_gains", "ranks"]

Tensor = Any


def inverse(totals: Tensor) -> Tensor:
    """1 / x, and 0 for 0."""
    torch = require("torch", "neural")
    return torch.where(totals > 0, 1.0 / totals, 0.0)


def ranks(lists: DeviceLists) -> Tensor:
    """1, 2, 3, ... in each list."""
    torch = require("torch", "neural")
    row = torch.arange(1, lists.n_documents + 1, dtype=torch.float64, device=lists.offsets.device)
    return row - lists.spread(lists.offsets[:-1])


def normalised_gains(
    lists: DeviceLists, gain: str | tuple[float, ...], cut: int | None
) -> tuple[Tensor, Tensor]:
    """Weighted gains over maxDCG, by document; and the DCG that each adds in the best order."""
    torch = require("torch", "neural")
    amounts, rank = gains(lists.labels.double(), gain), ranks(lists)
    at_rank = discount(rank)
    if cut is not None:
        at_rank = at_rank * (rank <= cut)
    ideal = list_sums(amounts[order_of(lists, amounts)] * at_rank, lists.offsets, inverted=True)
    share = lists.weighted(amounts) * lists.spread(ideal)
    order = order_of(lists, share)
    best = torch.empty_like(share)
    best[order] = share[order] * at_rank
    return share, best
