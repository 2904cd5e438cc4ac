"""Triplet margin on a device: the hardest negative of every label by one scan, and what it feels by runs."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.losses._cuda_blocks import run_starts, runs, tied_blocks
from rankloop.losses._cuda_jit import jit, tl
from rankloop.losses._cuda_lists import DeviceLists, list_sums, order_of
from rankloop.losses.triplet import Triplet

__all__ = ["triplet"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def triplet(chosen: Triplet, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    blocks = tied_blocks(lists, order_of(lists, lists.labels), lists.labels)
    s = lists.scores.double()[blocks.order]
    highest = torch.zeros_like(blocks.begin)
    _highest_kernel[(lists.n_lists,)](s, lists.offsets, highest, WIDTH=128)
    rival = blocks.after(highest, -1).long()  # of lower label
    has = rival >= 0
    short = chosen.margin - s + s[rival.clamp(min=0)]
    weight = lists.mass(torch.ones_like(lists.scores).double())[blocks.order]
    push = torch.where(has & (short > 0), weight, 0.0)
    # From low labels up the hardest only changes for a harder one: who shares it stands in one run.
    begin = run_starts(rival, blocks.first)
    at = torch.arange(len(s), device=s.device)
    pushed = torch.zeros(len(s) + 1, dtype=s.dtype, device=s.device)
    pushed[torch.where(has & (begin == at), rival, len(s))] = list_sums(push, runs(begin))
    gradient, curvature = blocks.back(pushed[:-1] - push, pushed[:-1] + push)
    return list_sums(push * short, lists.offsets), gradient, curvature


@jit
def _higher(score, at, other, other_at):  # type: ignore[no-untyped-def]
    """The higher of two and where it is; of equal ones the first."""
    climbs = other > score
    return tl.where(climbs, other, score), tl.where(climbs, other_at, at)


@jit
def _highest_kernel(values, offsets, made, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """Where the highest of all values from each place to the end of its list is."""
    q = tl.program_id(0)
    start = tl.load(offsets + q)
    n = (tl.load(offsets + q + 1) - start).to(tl.int32)
    most = tl.full([WIDTH], float("-inf"), tl.float64)
    most_at = tl.zeros([WIDTH], tl.int64)
    for low in range(0, n, WIDTH):
        k = low + tl.arange(0, WIDTH)
        at = start + n - 1 - k
        x = tl.load(values + at, mask=k < n, other=float("-inf"))
        x, x_at = tl.associative_scan((x, at), 0, _higher)
        most, most_at = _higher(most, most_at, x, x_at)
        tl.store(made + at, most_at, mask=k < n)
        last = k == low + WIDTH - 1
        most_at = tl.zeros([WIDTH], tl.int64) + tl.sum(tl.where(last, most_at, 0), 0)
        most = tl.zeros([WIDTH], tl.float64) + tl.max(most, 0)
