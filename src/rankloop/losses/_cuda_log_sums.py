"""Losses that run over an order on a device: Plackett-Luce and softmaxes against lower labels.

Everything is in logarithms and double precision, from one kernel: the running log-sum of each list.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankloop._extras import require
from rankloop.losses._cuda_jit import jit, tl
from rankloop.losses._cuda_lists import DeviceLists, list_sums, order_of
from rankloop.losses._cuda_terms import discounts, gains_of, ranks
from rankloop.losses.exponential import Exponential
from rankloop.losses.infonce import InfoNCE
from rankloop.losses.listmle import ListMLE
from rankloop.losses.plistmle import PListMLE
from rankloop.losses.rankdistil import RankDistil
from rankloop.losses.unique_softmax import UniqueSoftmax

__all__ = ["exponential", "infonce", "listmle", "plistmle", "rankdistil", "unique_softmax"]

_NOTHING = -1e300  # the logarithm of an empty sum
_CAP = 300.0

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def listmle(chosen: ListMLE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    return _plackett_luce(lists, _label_blocks(lists, chosen), torch.ones_like(lists.scores).double())


def plistmle(chosen: PListMLE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    rank = ranks(lists)
    if chosen.decay == "log2":
        stage = discounts(rank)
    else:
        last = torch.exp2(1.0 - lists.spread(lists.offsets.diff()).double())
        stage = (torch.exp2(1.0 - rank) - last) / torch.where(last < 1.0, 1.0 - last, 1.0)
    return _plackett_luce(lists, _label_blocks(lists, chosen), stage)


def rankdistil(chosen: RankDistil, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    rng = np.random.default_rng(chosen.seed)
    stage = (ranks(lists) <= chosen.k).double() / chosen.samples
    parts: list[Parts] = []
    for _ in range(chosen.samples):
        noise = torch.as_tensor(rng.gumbel(size=lists.n_documents), device=lists.scores.device)
        drawn = lists.labels / np.float32(chosen.temperature) + noise
        parts.append(_plackett_luce(lists, _alone(lists, order_of(lists, drawn)), stage))
    value, gradient, curvature = (sum(part) for part in zip(*parts, strict=True))
    return value, gradient, curvature


def unique_softmax(chosen: UniqueSoftmax, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    return _against_lower(lists, lists.mass(gains_of(lists.labels.double(), chosen.gain)))


def infonce(chosen: InfoNCE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    hit = (lists.labels >= chosen.relevant).float()
    warm = lists._replace(scores=lists.scores.double() / chosen.temperature, labels=hit)
    value, gradient, curvature = _against_lower(warm, lists.mass(hit.double()))
    return value, gradient / chosen.temperature, curvature / chosen.temperature**2


def exponential(chosen: Exponential, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    blocks = _blocks(lists, order_of(lists, lists.labels), lists.labels)
    s = chosen.sigma * lists.scores.double()[blocks.order]
    heavy = _log(lists.mass(torch.ones_like(lists.scores).double())[blocks.order])
    below = blocks.after(_log_scan(s, lists.offsets, reverse=True))
    above = blocks.before(_log_scan(heavy - s, lists.offsets))
    up = torch.exp((heavy - s + below).clamp(max=_CAP))
    down = torch.exp((s + above).clamp(max=_CAP))
    gradient, curvature = blocks.back(chosen.sigma * (down - up), chosen.sigma**2 * (up + down))
    return list_sums(up, lists.offsets), gradient, curvature


class _Blocks(NamedTuple):
    """An order of the rows, and by rank the first and one past the last rank of those tied with it."""

    order: Tensor
    begin: Tensor
    end: Tensor
    first: Tensor  # of the list
    stop: Tensor

    def before(self, scan: Tensor) -> Tensor:
        """A running log-sum just before the block."""
        torch = require("torch", "neural")
        return torch.where(self.begin > self.first, scan[(self.begin - 1).clamp(min=0)], _NOTHING)

    def after(self, scan: Tensor) -> Tensor:
        """A backward running log-sum just after the block."""
        torch = require("torch", "neural")
        return torch.where(self.end < self.stop, scan[self.end.clamp(max=len(scan) - 1)], _NOTHING)

    def total(self, values: Tensor) -> Tensor:
        """The log-sum of the block."""
        torch = require("torch", "neural")
        # As many blocks as ranks: the last ones are empty, so that nothing has to be counted first.
        starts = torch.searchsorted(self.begin, torch.arange(len(values) + 1, device=values.device))
        return _log_scan(values, starts)[self.end - 1]

    def plain_total(self, values: Tensor) -> Tensor:
        torch = require("torch", "neural")
        return torch.exp(self.total(_log(values)))

    def back(self, *by_rank: Tensor) -> list[Tensor]:
        """From ranks to rows."""
        torch = require("torch", "neural")
        made = [torch.empty_like(values) for values in by_rank]
        for out, values in zip(made, by_rank, strict=True):
            out[self.order] = values
        return made


def _blocks(lists: DeviceLists, order: Tensor, labels: Tensor | None) -> _Blocks:
    torch = require("torch", "neural")
    at = torch.arange(lists.n_documents, device=order.device)
    first, stop = lists.spread(lists.offsets[:-1]), lists.spread(lists.offsets[1:])
    if labels is None:
        return _Blocks(order, at, at + 1, first, stop)
    ranked = labels[order]
    new = torch.ones_like(at, dtype=torch.bool)
    new[1:] = (ranked[1:] != ranked[:-1]) | (first[1:] != first[:-1])
    begin = torch.where(new, at, 0).cummax(0).values
    end = torch.searchsorted(begin, begin, right=True)
    return _Blocks(order, begin, end, first, stop)


def _alone(lists: DeviceLists, order: Tensor) -> _Blocks:
    return _blocks(lists, order, None)


def _label_blocks(lists: DeviceLists, chosen: ListMLE | PListMLE) -> _Blocks:
    torch = require("torch", "neural")
    if chosen.ties == "average":
        return _blocks(lists, order_of(lists, lists.labels), lists.labels)
    drawn = np.random.default_rng(chosen.seed).random(lists.n_documents)  # the CPU's own draws
    shuffled = order_of(lists, -torch.as_tensor(drawn, device=lists.scores.device))
    return _alone(lists, shuffled[order_of(lists, lists.labels[shuffled])])


def _plackett_luce(lists: DeviceLists, blocks: _Blocks, stage: Tensor) -> Parts:
    """As `losses._plackett_luce`, all ranks at once."""
    torch = require("torch", "neural")
    s = lists.scores.double()[blocks.order]
    weight = lists.mass(torch.ones_like(lists.scores).double())[blocks.order]
    size = (blocks.end - blocks.begin).double()
    drawn = torch.arange(len(s), device=s.device) - blocks.begin
    mean, share = blocks.plain_total(weight), blocks.plain_total(stage)
    amount = stage * mean / size
    c, remains = _log(amount), torch.log1p(-drawn / size)
    left = blocks.after(_log_scan(s, lists.offsets, reverse=True))
    race = torch.logaddexp(left, blocks.total(s) + remains)
    own = torch.logaddexp(blocks.before(_log_scan(c - race, lists.offsets)), blocks.total(c + remains - race))
    own2 = torch.logaddexp(
        blocks.before(_log_scan(c - 2.0 * race, lists.offsets)), blocks.total(c + 2.0 * (remains - race))
    )
    aim = weight * share / size
    felt = torch.exp(s + own)
    value = list_sums(amount * race - aim * s, lists.offsets)
    gradient, curvature = blocks.back(felt - aim, (felt - torch.exp(2.0 * s + own2)).clamp(min=0))
    return value, gradient, curvature


def _against_lower(lists: DeviceLists, mass: Tensor) -> Parts:
    """As `losses.unique_softmax.against_lower`, all ranks at once."""
    torch = require("torch", "neural")
    blocks = _blocks(lists, order_of(lists, lists.labels), lists.labels)
    s, amount = lists.scores.double()[blocks.order], mass[blocks.order]
    race = torch.logaddexp(s, blocks.after(_log_scan(s, lists.offsets, reverse=True)))
    heavy = _log(amount)
    above = blocks.before(_log_scan(heavy - race, lists.offsets))
    above2 = blocks.before(_log_scan(heavy - 2.0 * race, lists.offsets))
    own, felt = torch.exp(s - race), torch.exp(s + above)
    bend = amount * own * (1.0 - own) + (felt - torch.exp(2.0 * s + above2)).clamp(min=0)
    gradient, curvature = blocks.back(felt - amount * (1.0 - own), bend)
    return list_sums(amount * (race - s), lists.offsets), gradient, curvature


def _log(values: Tensor) -> Tensor:
    torch = require("torch", "neural")
    return torch.where(values > 0, torch.log(values), _NOTHING)


def _log_scan(values: Tensor, offsets: Tensor, reverse: bool = False) -> Tensor:
    """The running log-sum of each list, from its first or its last document."""
    torch = require("torch", "neural")
    made = torch.empty_like(values)
    _scan_kernel[(len(offsets) - 1,)](values, offsets, made, REVERSE=reverse, WIDTH=128)
    return made


@jit
def _add_logs(a, b):  # type: ignore[no-untyped-def]
    high = tl.maximum(a, b)
    return high + tl.log(1.0 + tl.exp(tl.minimum(a, b) - high))


@jit
def _scan_kernel(values, offsets, made, REVERSE: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    q = tl.program_id(0)
    start = tl.load(offsets + q)
    n = (tl.load(offsets + q + 1) - start).to(tl.int32)
    carried = tl.full([WIDTH], -1e300, tl.float64)
    for low in range(0, n, WIDTH):
        k = low + tl.arange(0, WIDTH)
        at = start + (n - 1 - k if REVERSE else k)
        x = tl.load(values + at, mask=k < n, other=-1e300)
        x = _add_logs(tl.associative_scan(x, 0, _add_logs), carried)
        tl.store(made + at, x, mask=k < n)
        carried = tl.zeros([WIDTH], tl.float64) + tl.max(x, 0)  # running sums only grow
