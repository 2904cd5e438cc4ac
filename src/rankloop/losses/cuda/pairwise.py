"""Hinge, RankNet, LambdaRank and LambdaLoss on a device: the inputs of each to the one pair kernel."""

from __future__ import annotations

import math
from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.discount import discount as discount_at
from rankloop.lists.tensors.gains import gains
from rankloop.losses.cuda.judged import judged_lambdas
from rankloop.losses.cuda.lists import DeviceLists, list_max, list_sums, sort_and_best, sort_of
from rankloop.losses.cuda.pairs import HINGE, SQUARED_HINGE, PairForm, pair_lambdas
from rankloop.losses.hinge import Hinge
from rankloop.losses.lambdaloss import LambdaLoss
from rankloop.losses.lambdarank import LambdaRank
from rankloop.losses.ranknet import RankNet

__all__ = ["hinge", "lambdaloss", "lambdarank", "ranknet"]

_EVERY = 2**30

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def hinge(chosen: Hinge, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    curve = SQUARED_HINGE if chosen.squared else HINGE
    form = PairForm(lists.labels, _ones(lists), sign=True, margin=chosen.margin, curve=curve)
    return _lambdas(lists, _arange(lists), lists.scores, form, wanted)


def ranknet(chosen: RankNet, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    form = PairForm(lists.labels, _ones(lists), sign=True, ties=chosen.ties, sigma=chosen.sigma)
    return _lambdas(lists, _arange(lists), lists.scores, form, wanted)


def lambdarank(chosen: LambdaRank, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    shrinks = {"shrink_gap": chosen.norm_gap, "shrink_list": chosen.norm_list}
    if chosen.metric in ("ndcg", "dcg"):
        gain = gains(lists.labels, chosen.gain)
        order, ranked, gain, discount, scale = sort_and_best(
            lists, lists.scores, gain, chosen.truncation or _EVERY
        )
        factor = scale if chosen.metric == "ndcg" else _ones(lists)
        form = PairForm(gain, factor, discount, **shrinks)
    else:
        order, ranked, labels = sort_of(lists, lists.scores, lists.labels)
        form = _swapped(chosen, lists, labels)._replace(**shrinks)
    form = form._replace(sigma=chosen.sigma, truncation=chosen.truncation)
    return _lambdas(lists, order, ranked, form, wanted)


def lambdaloss(chosen: LambdaLoss, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    factor = _ones(lists) / math.log(2.0)
    if chosen.form.startswith("arp"):
        order, ranked, labels = sort_of(lists, lists.scores, lists.labels)
        own, one = chosen.form == "arp1", torch.ones_like(lists.labels)
        form = PairForm(labels, factor, None, one, torch.zeros_like(one), one, own=own)
    else:
        gain = gains(lists.labels, chosen.gain)
        order, ranked, gain, discount, scale = sort_and_best(
            lists, lists.scores, gain, chosen.truncation or _EVERY
        )
        factor = factor * scale
        distance = torch.arange(1, lists.n_documents + 2, dtype=torch.float64, device=gain.device)
        drop = -discount_at(distance).diff().float()
        if chosen.form == "ndcg1":
            form = PairForm(gain * discount, factor, own=True)
        elif chosen.form == "ndcg2":
            form = PairForm(gain, factor, drop=drop, by_distance=True)
        else:
            form = PairForm(gain, factor, discount, drop=chosen.mu * drop)
    form = form._replace(sigma=chosen.sigma, truncation=chosen.truncation)
    return _lambdas(lists, order, ranked, form, wanted)


def _lambdas(
    lists: DeviceLists, order: Tensor, ranked: Tensor, form: PairForm, wanted: dict[str, bool]
) -> Parts:
    if lists.pairs is not None:
        return judged_lambdas(lists, lists.pairs, order, ranked, form)
    return pair_lambdas(lists, order, ranked, form, **wanted)


def _swapped(chosen: LambdaRank, lists: DeviceLists, labels: Tensor) -> PairForm:
    """The swap terms of ERR, MAP, MRR, precision and ARP (`kernels.swap`), running sums in double."""
    torch = require("torch", "neural")
    query = lists.rows()
    begin = lists.offsets[:-1][query]
    rank = (torch.arange(lists.n_documents, device=labels.device) - begin + 1).double()
    one = torch.ones_like(rank)

    def before(values: Tensor) -> Tensor:
        """By rank: the sum over the ranks above, in the list."""
        running = values.cumsum(0) - values
        return running - running[begin]

    hit = (labels >= chosen.relevance_threshold).double()
    plain = hit.float()
    if chosen.metric == "arp":
        factor = list_sums(labels, lists.offsets, inverted=True)
        return PairForm(labels, factor, None, -rank, one, -rank)
    if chosen.metric == "err":
        highest = lists.labels.max() if chosen.max_label is None else chosen.max_label
        stop = (torch.exp2(labels.double()) - 1.0) * 2.0 ** (-highest)
        here = torch.exp(before(torch.log1p(-stop))) / rank
        stopped = before(stop * here)
        beta = 1.0 / (1.0 - stop)
        alpha = here + beta * (stopped + stop * here)
        return PairForm(stop.float(), _ones(lists), None, alpha, beta, stopped + here)
    if chosen.metric == "precision":
        within = (rank <= chosen.truncation).double() / chosen.truncation
        return PairForm(plain, _ones(lists), None, within, one, within)
    if chosen.metric == "map":
        seen, inverse_ranks = before(hit), before(hit / rank)
        alpha = (seen + 1.0) / rank - inverse_ranks - hit / rank
        factor = list_sums(plain, lists.offsets, inverted=True)
        return PairForm(plain, factor, None, alpha, one, (seen + hit) / rank - inverse_ranks)
    seen = before(hit)
    # A hit that rises to a rank above the first brings 1 / rank; the first gives way to the second.
    far = torch.full_like(rank, 1e30)
    first, second = (
        lists.spread(-list_max(-torch.where((hit > 0) & (seen == count), rank, far), lists.offsets))
        for count in (0, 1)
    )
    reached = ((rank <= first) & (first < 1e29)).double()
    gamma = torch.where(hit > 0, 1.0 / first, 1.0 / torch.minimum(rank, second))
    return PairForm(plain, _ones(lists), None, reached / rank, reached, gamma)


def _ones(lists: DeviceLists) -> Tensor:
    return lists.labels.new_ones(lists.n_lists)


def _arange(lists: DeviceLists) -> Tensor:
    torch = require("torch", "neural")
    return torch.arange(lists.n_documents, device=lists.scores.device)
