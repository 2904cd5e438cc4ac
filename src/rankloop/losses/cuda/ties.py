"""Ties of scores on a device: means over their orders, as in `kernels.tied_ranks`."""

from __future__ import annotations

from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop.losses.cuda.blocks import Blocks, running_sums, tied_blocks
from rankloop.losses.cuda.lists import DeviceLists, list_max

__all__ = ["DeviceTies", "device_ties"]

_EVERY = 2**30

Tensor = Any


class DeviceTies(NamedTuple):
    """By rank: the tie, its size, the chances to reach above the truncation; by list: the ranks that can."""

    lists: DeviceLists
    blocks: Blocks
    size: Tensor
    inside: Tensor  # places of the tie above the truncation
    truncation: int

    @property
    def share(self) -> Tensor:
        return self.inside / self.size

    @property
    def either(self) -> Tensor:
        """The chance that one of two of the tie is ranked above the truncation."""
        torch = require("torch", "neural")
        below, pairs = self.size - self.inside, self.size * (self.size - 1.0)
        return torch.where(pairs > 0, 1.0 - below * (below - 1.0) / pairs.clamp(min=1.0), self.share)

    @property
    def middle(self) -> Tensor:
        """Twice the mean rank."""
        return self.blocks.begin + self.blocks.end - 2 * self.blocks.first + 1

    @property
    def reach(self) -> Tensor:
        torch = require("torch", "neural")
        deepest = torch.where(self.inside > 0, (self.blocks.end - self.blocks.first).double(), 0.0)
        return list_max(deepest, self.lists.offsets).clamp(min=0).long()

    def mean(self, by_rank: Tensor, cut: bool = False) -> Tensor:
        """By rank the mean over its tie; with `cut`, places below the truncation count as 0."""
        return self._total(self._above(by_rank) if cut else by_rank) / self.size

    def within(self, by_rank: Tensor) -> Tensor:
        """The mean difference of two places of a tie, 0 where both lie below the truncation."""
        torch = require("torch", "neural")
        place = (torch.arange(len(by_rank), device=by_rank.device) - self.blocks.begin).double()
        often = torch.where(place < self.inside, self.size - 1.0 - place, 0.0)
        often = often - torch.minimum(place, self.inside)
        pairs = 0.5 * self.size * (self.size - 1.0)
        return torch.where(pairs > 0, self._total(by_rank * often) / pairs.clamp(min=1.0), 0.0)

    def _above(self, by_rank: Tensor) -> Tensor:
        torch = require("torch", "neural")
        place = torch.arange(len(by_rank), device=by_rank.device) - self.blocks.first
        return torch.where(place < self.truncation, by_rank, 0.0)

    def _total(self, values: Tensor) -> Tensor:
        """The sum over each tie."""
        running = running_sums(values, self.lists.offsets)
        return running[self.blocks.end - 1] - self.blocks.before(running, 0.0)


def device_ties(
    lists: DeviceLists, order: Tensor, truncation: int | None, labels: Tensor | None = None
) -> DeviceTies:
    """The ties of lists in the order of their scores; with `labels` (by row), only equal labels tie."""
    blocks = tied_blocks(lists, order, lists.scores, labels)
    size = (blocks.end - blocks.begin).double()
    cut = _EVERY if truncation is None else truncation
    above = (cut - (blocks.begin - blocks.first)).clamp(min=0).double()
    return DeviceTies(lists, blocks, size, above.minimum(size), cut)
