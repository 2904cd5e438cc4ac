"""Losses that run over an order on a device: Plackett-Luce and InfoNCE.

All in logarithms and double precision, from one kernel: the running sums of each list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop._extras import require
from rankloop.lists.tensors.discount import discount
from rankloop.lists.tensors.gains import gains
from rankloop.losses.cuda.blocks import blocks_alone, log_of, log_scan, running_sums, tied_blocks
from rankloop.losses.cuda.lists import DeviceLists, list_sums, order_of
from rankloop.losses.cuda.terms import ranks
from rankloop.losses.infonce import InfoNCE
from rankloop.losses.listmle import ListMLE
from rankloop.losses.plistmle import PListMLE
from rankloop.losses.plrank import PLRank
from rankloop.losses.rankdistil import RankDistil

__all__ = ["infonce", "listmle", "plistmle", "plrank", "rankdistil"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def listmle(chosen: ListMLE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    return _plackett_luce(lists, _shuffled_labels(lists, chosen), torch.ones_like(lists.scores).double())


def plistmle(chosen: PListMLE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    rank = ranks(lists)
    if chosen.decay == "log2":
        stage = discount(rank)
    else:
        last = torch.exp2(1.0 - lists.spread(lists.offsets.diff()).double())
        stage = (torch.exp2(1.0 - rank) - last) / torch.where(last < 1.0, 1.0 - last, 1.0)
    return _plackett_luce(lists, _shuffled_labels(lists, chosen), stage)


def rankdistil(chosen: RankDistil, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    rng = np.random.default_rng(chosen.seed)
    stage = (ranks(lists) <= chosen.k).double() / chosen.samples
    parts: list[Parts] = []
    for _ in range(chosen.samples):
        noise = torch.as_tensor(rng.gumbel(size=lists.n_documents), device=lists.scores.device)
        drawn = lists.labels / np.float32(chosen.temperature) + noise
        parts.append(_plackett_luce(lists, order_of(lists, drawn), stage))
    value, gradient, hessian = (sum(part) for part in zip(*parts, strict=True))
    return value, gradient, hessian


def plrank(chosen: PLRank, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    rng, rank, count = np.random.default_rng(chosen.seed), ranks(lists), lists.offsets.diff().clamp(min=1)
    counts = rank <= chosen.k
    at_rank = torch.where(counts, discount(rank), 0.0)
    gain = lists.weighted(gains(lists.labels.double(), chosen.gain))
    scores = lists.scores.double()
    parts: list[Parts] = []
    for _ in range(chosen.samples):
        noise = torch.as_tensor(rng.gumbel(size=lists.n_documents), device=scores.device)
        blocks = blocks_alone(lists, order_of(lists, scores + noise))
        s, amount = scores[blocks.order], gain[blocks.order]
        race = log_scan(s, lists.offsets, reverse=True)
        gained = at_rank * amount
        reward = running_sums(gained, lists.offsets, reverse=True)
        heavy = log_of(torch.where(counts, reward, 0.0))
        pull = torch.exp(s + log_scan(heavy - race, lists.offsets))
        won = torch.exp(s + log_scan(log_of(at_rank) - race, lists.offsets))
        lambda_ = pull - (reward - gained) - amount * won
        lambda_ = lambda_ - lists.spread(list_sums(lambda_, lists.offsets) / count)
        hess = (pull - torch.exp(2.0 * s + log_scan(heavy - 2.0 * race, lists.offsets))).clamp(min=0)
        gradient, hessian = blocks.back(lambda_, hess)
        parts.append((-list_sums(gained, lists.offsets), gradient, hessian))
    value, gradient, hessian = (sum(part) / chosen.samples for part in zip(*parts, strict=True))
    return value, gradient, hessian


def infonce(chosen: InfoNCE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    hit = (lists.labels >= chosen.relevance_threshold).float()
    warm = lists._replace(scores=lists.scores.double() / chosen.temperature, labels=hit)
    value, gradient, hessian = _against_lower(warm, lists.weighted(hit.double()))
    return value, gradient / chosen.temperature, hessian / chosen.temperature**2


def _shuffled_labels(lists: DeviceLists, chosen: ListMLE | PListMLE) -> Tensor:
    """The rows by falling label, equal labels in the random order that the CPU draws too."""
    torch = require("torch", "neural")
    drawn = np.random.default_rng(chosen.seed).random(lists.n_documents)
    shuffled = order_of(lists, -torch.as_tensor(drawn, device=lists.scores.device))
    return shuffled[order_of(lists, lists.labels[shuffled])]


def _plackett_luce(lists: DeviceLists, order: Tensor, stage: Tensor) -> Parts:
    """As `kernels.plackett_luce` without ties, all ranks at once."""
    torch = require("torch", "neural")
    blocks = blocks_alone(lists, order)
    s = lists.scores.double()[order]
    aim = stage * lists.weighted(torch.ones_like(lists.scores).double())[order]
    race = log_scan(s, lists.offsets, reverse=True)
    pull = torch.exp(s + log_scan(log_of(aim) - race, lists.offsets))
    pull2 = torch.exp(2.0 * s + log_scan(log_of(aim) - 2.0 * race, lists.offsets))
    gradient, hessian = blocks.back(pull - aim, (pull - pull2).clamp(min=0))
    return list_sums(aim * (race - s), lists.offsets), gradient, hessian


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
