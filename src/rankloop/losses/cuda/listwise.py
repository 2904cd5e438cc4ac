"""Pointwise losses and cross-entropies over lists on a device, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop._extras import require
from rankloop.lists.tensors.gains import gains
from rankloop.losses.cuda.lists import DeviceLists, list_max, list_sums
from rankloop.losses.listnet import ListNet
from rankloop.losses.sigmoid_cross_entropy import SigmoidCrossEntropy
from rankloop.losses.softmax import Softmax
from rankloop.losses.squared import Squared
from rankloop.losses.xendcg import XENDCG

__all__ = ["list_softmax", "listnet", "log1p_exp", "sigmoid_cross_entropy", "softmax", "squared", "xendcg"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def squared(chosen: Squared, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    gap = lists.scores.double() - lists.labels
    weight = lists.weighted(torch.ones_like(gap))
    return list_sums(weight * gap * gap, lists.offsets), 2.0 * weight * gap, 2.0 * weight


def sigmoid_cross_entropy(chosen: SigmoidCrossEntropy, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    s = lists.scores.double()
    highest = lists.labels.max().clamp(min=1e-30) if chosen.max_label is None else chosen.max_label
    aim = lists.labels.double() / highest
    chance, weight = torch.sigmoid(s), lists.weighted(torch.ones_like(s))
    value = list_sums(weight * (log1p_exp(s) - aim * s), lists.offsets)
    return value, weight * (chance - aim), weight * chance * torch.sigmoid(-s)


def listnet(chosen: ListNet, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    labels = lists.labels.double()
    if chosen.target == "softmax":
        return _cross_entropy(lists, lists.weighted(list_softmax(labels, lists)[0]))
    amounts = gains(labels, chosen.gain)
    sums = lists.spread(list_sums(amounts, lists.offsets))
    return _cross_entropy(lists, lists.weighted(torch.where(sums > 0, amounts / sums, 0.0)))


def softmax(chosen: Softmax, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    return _cross_entropy(lists, lists.weighted(lists.labels.double()))


def xendcg(chosen: XENDCG, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    drawn = np.random.default_rng(chosen.seed).random(lists.n_documents)  # the same draws as on the CPU
    phi = torch.exp2(lists.labels.double()) - torch.as_tensor(drawn, device=lists.scores.device)
    return _cross_entropy(lists, lists.weighted(phi / lists.spread(list_sums(phi, lists.offsets))))


def list_softmax(scores: Tensor, lists: DeviceLists) -> tuple[Tensor, Tensor]:
    """The softmax of each list, and per document the logarithm of its denominator."""
    torch = require("torch", "neural")
    high = lists.spread(list_max(scores, lists.offsets))
    raised = torch.exp(scores - high)
    summed = lists.spread(list_sums(raised, lists.offsets))
    return raised / summed, high + torch.log(summed)


def _cross_entropy(lists: DeviceLists, target: Tensor) -> Parts:
    s = lists.scores.double()
    chance, level = list_softmax(s, lists)
    total = lists.spread(list_sums(target, lists.offsets))
    value = list_sums(target * (level - s), lists.offsets)
    return value, total * chance - target, total * chance * (1.0 - chance)


def log1p_exp(x: Tensor) -> Tensor:
    torch = require("torch", "neural")
    return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))
