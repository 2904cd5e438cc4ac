"""Pointwise and squared losses, and the softmax of lists, on a device, in double precision."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.losses.centred_squared import CentredSquared
from rankloop.losses.cuda.lists import DeviceLists, list_max, list_sums
from rankloop.losses.sigmoid_cross_entropy import SigmoidCrossEntropy
from rankloop.losses.squared import Squared

__all__ = ["centred_squared", "list_softmax", "log1p_exp", "sigmoid_cross_entropy", "squared"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def squared(chosen: Squared, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    gap = lists.scores.double() - lists.labels
    weight = lists.weighted(torch.ones_like(gap))
    return list_sums(weight * gap * gap, lists.offsets), 2.0 * weight * gap, 2.0 * weight


def centred_squared(chosen: CentredSquared, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    gap = lists.scores.double() - lists.labels
    weight = lists.weighted(torch.ones_like(gap))
    share = 1.0 / lists.spread(list_sums(torch.ones_like(gap), lists.offsets))
    gap = gap - share * lists.spread(list_sums(gap, lists.offsets))
    pull = weight * gap
    level = share * lists.spread(list_sums(pull, lists.offsets))
    curve = share * share * lists.spread(list_sums(weight, lists.offsets))
    hessian = 2.0 * (weight * (1.0 - 2.0 * share) + curve)
    return list_sums(pull * gap, lists.offsets), 2.0 * (pull - level), hessian


def sigmoid_cross_entropy(chosen: SigmoidCrossEntropy, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    s = lists.scores.double()
    highest = lists.labels.max().clamp(min=1e-30) if chosen.max_label is None else chosen.max_label
    aim = lists.labels.double() / highest
    chance, weight = torch.sigmoid(s), lists.weighted(torch.ones_like(s))
    value = list_sums(weight * (log1p_exp(s) - aim * s), lists.offsets)
    return value, weight * (chance - aim), weight * chance * torch.sigmoid(-s)


def list_softmax(scores: Tensor, lists: DeviceLists) -> tuple[Tensor, Tensor]:
    """The softmax of each list, and per document the logarithm of its denominator."""
    torch = require("torch", "neural")
    high = lists.spread(list_max(scores, lists.offsets))
    raised = torch.exp(scores - high)
    summed = lists.spread(list_sums(raised, lists.offsets))
    return raised / summed, high + torch.log(summed)


def log1p_exp(x: Tensor) -> Tensor:
    torch = require("torch", "neural")
    return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))
