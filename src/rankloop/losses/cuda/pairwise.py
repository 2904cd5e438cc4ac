"""Hinge, RankNet, LambdaRank and LambdaLoss on a device: the inputs of each to the one pair kernel."""

from __future__ import annotations

import math
from typing import Any

from rankloop._extras import require
from rankloop.lists.tensors.discount import discount as discount_at
from rankloop.lists.tensors.gains import gains
from rankloop.losses.cuda.judged import judged_lambdas
from rankloop.losses.cuda.lists import DeviceLists, list_max, list_sums, order_of, sort_and_best, sort_of
from rankloop.losses.cuda.pairs import HINGE, SQUARED_HINGE, PairForm, pair_lambdas
from rankloop.losses.cuda.place_means import DISCOUNT, RANK, SHARE, place_means
from rankloop.losses.cuda.ring import ring_lambdas, takes
from rankloop.losses.cuda.terms import ranks
from rankloop.losses.cuda.ties import device_ties
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
    if lists.pairs is None and takes(chosen):
        return ring_lambdas(chosen, lists, **wanted)
    shrinks = {"shrink_gap": chosen.norm_gap, "shrink_list": chosen.norm_list}
    if chosen.metric in ("ndcg", "dcg"):
        gain = gains(lists.labels, chosen.gain)
        order, ranked, gain, _, scale = sort_and_best(lists, lists.scores, gain, chosen.truncation or _EVERY)
        factor = scale if chosen.metric == "ndcg" else _ones(lists)
        form = _by_place(lists, ranked, gain, factor, DISCOUNT, chosen.truncation)
    else:
        form, order, ranked = _swapped(chosen, lists)
    return _lambdas(lists, order, ranked, form._replace(sigma=chosen.sigma, **shrinks), wanted)


def _by_place(
    lists: DeviceLists, ranked: Tensor, gain: Tensor, factor: Tensor, brings: int, cut: int | None
) -> PairForm:
    """A metric in which only the places of the two documents count: means over their ties."""
    mean, within, above, share, reach = place_means(lists, ranked, brings, cut)
    if cut is None:
        return PairForm(gain, factor, mean, within=within)
    return PairForm(gain, factor, None, above, share, mean, within=within, share=share, reach=reach)


def lambdaloss(chosen: LambdaLoss, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    torch = require("torch", "neural")
    factor, cut = _ones(lists) / math.log(2.0), chosen.truncation
    arp = chosen.form.startswith("arp")
    amounts = lists.labels if arp else gains(lists.labels, chosen.gain)
    order, ranked, gain, _, scale = sort_and_best(lists, lists.scores, amounts, cut or _EVERY)
    ties = device_ties(lists, order, cut)
    reach = None if cut is None else ties.reach
    form = PairForm(gain, factor, share=ties.share, either=ties.either, reach=reach)
    if arp:
        form = form._replace(own=chosen.form == "arp1")
        if not form.own:
            none = torch.zeros_like(ties.share)
            form = form._replace(alpha=ties.share, beta=none, gamma=none, within=ties.either)
        return _lambdas(lists, order, ranked, form._replace(sigma=chosen.sigma), wanted)
    by_rank = discount_at(ranks(lists))
    form = form._replace(factor=factor * scale, sigma=chosen.sigma)
    if chosen.form == "ndcg1":
        own = gain * ties.mean(by_rank).float()
        return _lambdas(lists, order, ranked, form._replace(gain=own, own=True), wanted)
    steps = torch.arange(2 * lists.n_documents + 2, dtype=torch.float64, device=gain.device) / 2.0
    drop = torch.where(steps >= 1.0, discount_at(steps) - discount_at(steps + 1.0), 0.0)
    apart = ((ties.size + 1.0) / 3.0).clamp(min=1.0)  # of two documents of a tie, on average
    near = (discount_at(apart) - discount_at(apart + 1.0)) * ties.either
    if chosen.form == "ndcg2":
        form = form._replace(drop=drop.float(), middle=ties.middle, within=near)
    else:
        form = form._replace(
            alpha=ties.mean(by_rank, cut=True), beta=ties.share, gamma=ties.mean(by_rank),
            drop=(chosen.mu * drop).float(), middle=ties.middle,
            within=ties.within(by_rank) + chosen.mu * near,
        )  # fmt: skip
    return _lambdas(lists, order, ranked, form, wanted)


def _lambdas(
    lists: DeviceLists, order: Tensor, ranked: Tensor, form: PairForm, wanted: dict[str, bool]
) -> Parts:
    if lists.pairs is not None:
        return judged_lambdas(lists, lists.pairs, order, ranked, form)
    return pair_lambdas(lists, order, ranked, form, **wanted)


def _swapped(chosen: LambdaRank, lists: DeviceLists) -> tuple[PairForm, Tensor, Tensor]:
    """ERR, MAP, MRR, precision and ARP (`kernels.swap`), sums in double; the order, and scores by rank."""
    torch, rank = require("torch", "neural"), ranks(lists)
    begin, cut = lists.spread(lists.offsets[:-1]), chosen.truncation
    if chosen.metric in ("arp", "precision"):
        order, ranked, labels = sort_of(lists, lists.scores, lists.labels)
        if chosen.metric == "arp":
            factor = list_sums(labels, lists.offsets, inverted=True)
            return _by_place(lists, ranked, labels, factor, RANK, cut), order, ranked
        plain = (labels >= chosen.relevance_threshold).float()
        return _by_place(lists, ranked, plain, _ones(lists), SHARE, cut), order, ranked
    # The lowest label of a tie comes first; documents of one label and score take their mean place.
    lowest = order_of(lists, -lists.labels)
    order = lowest[order_of(lists, lists.scores[lowest])]
    labels, ranked = lists.labels[order], lists.scores[order]

    def before(values: Tensor) -> Tensor:
        """By rank: the sum over the ranks above, in the list."""
        running = values.cumsum(0) - values
        return running - running[begin]

    hit, factor = (labels >= chosen.relevance_threshold).double(), _ones(lists)
    amount, beta = hit.float(), torch.ones_like(rank)
    if chosen.metric == "err":
        highest = lists.labels.max() if chosen.max_label is None else chosen.max_label
        stop = (torch.exp2(labels.double()) - 1.0) * 2.0 ** (-highest)
        here = torch.exp(before(torch.log1p(-stop))) / rank
        stopped = before(stop * here)
        amount, beta = stop.float(), 1.0 / (1.0 - stop)
        alpha, gamma = here + beta * (stopped + stop * here), stopped + here
    elif chosen.metric == "map":
        seen, inverse_ranks = before(hit), before(hit / rank)
        alpha = (seen + 1.0) / rank - inverse_ranks - hit / rank
        gamma = (seen + hit) / rank - inverse_ranks
        factor = list_sums(amount, lists.offsets, inverted=True)
    else:
        # A hit that rises to a rank above the first brings 1 / rank; the first gives way to the second.
        seen, far = before(hit), torch.full_like(rank, 1e30)
        first, second = (
            lists.spread(-list_max(-torch.where((hit > 0) & (seen == count), rank, far), lists.offsets))
            for count in (0, 1)
        )
        beta = ((rank <= first) & (first < 1e29)).double()
        alpha, gamma = beta / rank, torch.where(hit > 0, 1.0 / first, 1.0 / torch.minimum(rank, second))
    ties = device_ties(lists, order, cut, lists.labels)
    reach = None if cut is None else ties.reach
    terms = ties.mean(alpha, cut=True), ties.mean(beta, cut=True), ties.mean(gamma)
    return PairForm(amount, factor, None, *terms, share=ties.share, reach=reach), order, ranked


def _ones(lists: DeviceLists) -> Tensor:
    return lists.labels.new_ones(lists.n_lists)


def _arange(lists: DeviceLists) -> Tensor:
    torch = require("torch", "neural")
    return torch.arange(lists.n_documents, device=lists.scores.device)
