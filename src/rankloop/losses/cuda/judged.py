"""Explicit pairs on a device: each pair once, then the sums of documents and lists in a fixed order."""

from __future__ import annotations

from typing import Any

from rankloop._extras import require
from rankloop.losses.cuda.blocks import sums_by
from rankloop.losses.cuda.lists import DeviceLists, DevicePairs
from rankloop.losses.cuda.pairs import LOGISTIC, SQUARED_HINGE, PairForm, finished
from rankloop.losses.cuda.pointwise import log1p_exp

__all__ = ["judged_lambdas"]

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def judged_lambdas(
    lists: DeviceLists, pairs: DevicePairs, order: Tensor, ranked: Tensor, form: PairForm
) -> Parts:
    """As `pair_lambdas`, for pairs with a probability each, in double precision."""
    torch = require("torch", "neural")
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order), device=order.device)
    a, b = place[pairs.better], place[pairs.worse]
    i, j = torch.minimum(a, b), torch.maximum(a, b)
    query = torch.searchsorted(lists.offsets[1:].contiguous(), pairs.better, right=True)
    begin, end = lists.offsets[query], lists.offsets[query + 1]
    weight = lists.weighted(torch.ones_like(lists.labels).double())
    up = pairs.weight * pairs.probability * weight[pairs.better]
    down = pairs.weight * (1.0 - pairs.probability) * weight[pairs.worse]
    scores, gain = ranked.double(), form.gain.double()
    gap = scores[a] - scores[b]
    counts = torch.ones_like(gap) if form.share is None else form.share[i]
    if form.either is not None:
        counts = torch.where(gap == 0, form.either[i], counts)
    if form.own:
        up, down = up * gain[a], down * gain[b]
    swap = counts if form.own or form.sign else (gain[i] - gain[j]).abs() * _swap(form, i, j, gap, counts)
    if form.shrink_gap:
        shrinks = scores[begin] > scores[end - 1]
        swap = torch.where(shrinks, swap / (0.01 + gap.abs()), swap)
    lambda_, hess, cost = _pair_costs(up * swap, down * swap, gap, form)
    ends = torch.cat((pairs.better, pairs.worse))
    gradient = sums_by(ends, torch.cat((lambda_, -lambda_)), lists.n_documents)
    hessian = sums_by(ends, torch.cat((hess, hess)), lists.n_documents)
    value, size = (sums_by(query, part, lists.n_lists) for part in (cost, lambda_.abs()))
    rows = lists.spread(form.factor.double())
    parts = (value * form.factor, gradient * rows * form.sigma, hessian * rows * form.sigma**2)
    return finished(lists, parts, size * form.factor * form.sigma if form.shrink_list else None)


def _swap(form: PairForm, i: Tensor, j: Tensor, gap: Tensor, counts: Tensor) -> Tensor:
    torch, swap = require("torch", "neural"), 0.0
    if form.alpha is not None:
        assert form.beta is not None
        assert form.gamma is not None
        swap = form.alpha[i] - form.beta[i] * form.gamma[j]
    if form.drop is not None:
        assert form.middle is not None
        swap = swap + counts * form.drop[(form.middle[j] - form.middle[i]).abs()].double()
    if form.discount is not None:
        swap = swap + (form.discount[i] - form.discount[j]).double()
    return swap if form.within is None else torch.where(gap == 0, form.within[i], swap)


def _pair_costs(up: Tensor, down: Tensor, gap: Tensor, form: PairForm) -> Parts:
    """Lambda of the better document, Hessian and cost of each pair, before the factors of sigma."""
    torch = require("torch", "neural")
    if form.curve == LOGISTIC:
        z = form.sigma * gap
        right, wrong = torch.sigmoid(z), torch.sigmoid(-z)
        return (
            down * right - up * wrong,
            (up + down) * right * wrong,
            up * log1p_exp(-z) + down * log1p_exp(z),
        )
    short, other = (form.margin - gap).clamp(min=0), (form.margin + gap).clamp(min=0)
    active, against = torch.where(short > 0, up, 0.0), torch.where(other > 0, down, 0.0)
    if form.curve == SQUARED_HINGE:
        lambda_ = 2.0 * (down * other - up * short)
        return lambda_, 2.0 * (active + against), up * short**2 + down * other**2
    return against - active, active + against, up * short + down * other
