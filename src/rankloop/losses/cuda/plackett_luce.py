"""ListMLE, p-ListMLE and RankDistil on a device: the likelihood of orders, a program for each list and order.

In double precision, as `kernels.plackett_luce` without ties: sums as they are, or their logarithms where the
scores of a list lie too far apart for that.
"""

from __future__ import annotations

from typing import Any

from rankloop.lists.tensors.discount_of import discount_of
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.blocks import add_logs
from rankloop.losses.cuda.checks import sound_list
from rankloop.losses.cuda.draws import gumbel_draws
from rankloop.losses.cuda.lists import DeviceLists
from rankloop.losses.cuda.orders import label_order, noisy_orders
from rankloop.losses.cuda.outcome import list_factor, mean_of_samples, outcome
from rankloop.losses.listmle import ListMLE
from rankloop.losses.plistmle import PListMLE
from rankloop.losses.rankdistil import RankDistil

__all__ = ["listmle", "plistmle", "rankdistil"]

_EVERY, _FALLING, _DISCOUNTED, _TOP = range(4)  # the weights of the draws, by rank
_DEEPEST = 2**30

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def listmle(chosen: ListMLE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    return _likelihood(lists, label_order(lists, chosen.seed), _EVERY, wanted)


def plistmle(chosen: PListMLE, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    stage = _DISCOUNTED if chosen.decay == "log2" else _FALLING
    return _likelihood(lists, label_order(lists, chosen.seed), stage, wanted)


def rankdistil(chosen: RankDistil, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    teacher = lists.labels.double() / chosen.temperature

    def some(samples: range) -> Parts:
        noise = gumbel_draws(chosen.seed, samples, lists.n_documents, teacher.device)
        return _likelihood(lists, noisy_orders(lists, noise.add_(teacher)), _TOP, wanted, chosen.k)

    return mean_of_samples(lists, chosen.samples, some)


def _likelihood(
    lists: DeviceLists, order: Tensor, stage: int, wanted: dict[str, bool], k: int = _DEEPEST
) -> Parts:
    """The parts of each order, one after the other."""
    samples = order.shape[0]
    made = outcome(lists, curved=wanted["curved"], samples=samples)
    race = made[0].new_empty(order.shape)
    _order_costs[(lists.n_lists, samples)](
        lists.scores, lists.labels, *lists.weights, order, lists.offsets, race, *made,
        lists.n_documents, lists.n_lists, min(k, _DEEPEST), STAGE=stage, **lists.switches,
        HESSIAN=wanted["curved"], WIDTH=128, num_warps=1,
    )  # fmt: skip
    return made


@jit
def _order_costs(  # type: ignore[no-untyped-def]
    scores, labels, weights, by_list, order, offsets, race, value, gradient, hessian, rows, n_lists, k,
    STAGE: tl.constexpr, WEIGHTED: tl.constexpr, LISTED: tl.constexpr, CONTRAST: tl.constexpr,
    HESSIAN: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q, sample = tl.program_id(0), tl.program_id(1).to(tl.int64)
    start, stop, _ = sound_list(offsets, by_list, q, n_lists, rows, False)
    n = (stop - start).to(tl.int32)
    factor = list_factor(labels, by_list, q, start, stop, LISTED, CONTRAST, WIDTH)
    order += sample * rows + start
    race += sample * rows + start
    scores += start
    weights += start
    gradient += sample * rows + start
    hessian += sample * rows + start
    top, plain = _spread(scores, n, WIDTH)
    if plain:
        cost = _costs(
            scores, weights, order, race, gradient, hessian, n, k, top, factor,
            True, STAGE, WEIGHTED, HESSIAN, WIDTH,
        )  # fmt: skip
    else:
        cost = _costs(
            scores, weights, order, race, gradient, hessian, n, k, top, factor,
            False, STAGE, WEIGHTED, HESSIAN, WIDTH,
        )  # fmt: skip
    tl.store(value + sample * n_lists + q, factor * cost)


@jit
def _spread(scores, n, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """The highest score of a list; whether the squares of all exp(score) fit double precision."""
    high = tl.full([WIDTH], float("-inf"), scores.dtype.element_ty)
    low = tl.full([WIDTH], float("inf"), scores.dtype.element_ty)
    for at in range(0, n, WIDTH):
        i = at + tl.arange(0, WIDTH)
        high = tl.maximum(high, tl.load(scores + i, mask=i < n, other=float("-inf")))
        low = tl.minimum(low, tl.load(scores + i, mask=i < n, other=float("inf")))
    top = tl.max(high, 0).to(tl.float64)
    return top, top - tl.min(low, 0).to(tl.float64) < 300.0


@jit
def _costs(  # type: ignore[no-untyped-def]
    scores, weights, order, race, gradient, hessian, n, k, top, factor,
    PLAIN: tl.constexpr, STAGE: tl.constexpr, WEIGHTED: tl.constexpr, HESSIAN: tl.constexpr,
    WIDTH: tl.constexpr,
):  # fmt: skip
    """Gradient and Hessian of one order, and its cost; PLAIN with sums, otherwise with their logarithms."""
    # The order of lists that overlap, which the check refuses, may hold anything: it is kept within the list.
    # From the last rank to the first: what is in the race from there on.
    carried = tl.full([WIDTH], 0.0 if PLAIN else -1e300, tl.float64)
    chunks = (n + WIDTH - 1) // WIDTH
    for chunk in range(chunks):
        r = (chunks - 1 - chunk) * WIDTH + tl.arange(0, WIDTH)
        row = tl.minimum(tl.maximum(tl.load(order + r, mask=r < n, other=0), 0), n - 1)
        s = tl.load(scores + row, mask=r < n, other=0.0).to(tl.float64)
        if PLAIN:
            odds = tl.where(r < n, tl.exp(s - top), 0.0)
            left = tl.cumsum(odds, 0, reverse=True) + carried
        else:
            s = tl.where(r < n, s, -1e300)
            left = add_logs(tl.associative_scan(s, 0, add_logs, reverse=True), carried)
        carried = tl.zeros([WIDTH], tl.float64) + tl.max(left, 0)  # running sums only grow
        tl.store(race + r, left, mask=r < n)
    tl.debug_barrier()  # other threads may read what these have written
    # From the first rank on: the sums of aim / race and aim / race^2 over the draws so far.
    pulled = tl.full([WIDTH], 0.0 if PLAIN else -1e300, tl.float64)
    pulled2 = tl.full([WIDTH], 0.0 if PLAIN else -1e300, tl.float64)
    costs = tl.zeros([WIDTH], tl.float64)
    for low in range(0, n, WIDTH):
        r = low + tl.arange(0, WIDTH)
        there = r < n
        row = tl.minimum(tl.maximum(tl.load(order + r, mask=there, other=0), 0), n - 1)
        s = tl.load(scores + row, mask=there, other=0.0).to(tl.float64)
        left = tl.load(race + r, mask=there, other=1.0)
        aim = _aims(weights, row, r, n, k, STAGE, WEIGHTED)
        if PLAIN:
            s -= top
            odds = tl.exp(tl.where(there, s, 0.0))
            part = 1.0 / left
            pull = tl.cumsum(aim * part, 0) + pulled
            drawn = odds * pull
            costs += tl.where(there, aim * (tl.log(left) - s), 0.0)
        else:
            s = tl.where(there, s, -1e300)
            heavy = tl.where(aim > 0, tl.log(tl.where(aim > 0, aim, 1.0)), -1e300)
            pull = add_logs(tl.associative_scan(heavy - left, 0, add_logs), pulled)
            drawn = tl.exp(s + pull)
            costs += aim * (left - s)
        pulled = tl.zeros([WIDTH], tl.float64) + tl.max(pull, 0)
        tl.store(gradient + row, factor * (drawn - aim), mask=there)
        if HESSIAN:
            if PLAIN:
                pull2 = tl.cumsum(aim * part * part, 0) + pulled2
                twice = odds * odds * pull2
            else:
                pull2 = add_logs(tl.associative_scan(heavy - 2.0 * left, 0, add_logs), pulled2)
                twice = tl.exp(2.0 * s + pull2)
            pulled2 = tl.zeros([WIDTH], tl.float64) + tl.max(pull2, 0)
            tl.store(hessian + row, factor * tl.maximum(drawn - twice, 0.0), mask=there)
    return tl.sum(costs, 0)


@jit
def _aims(weights, row, r, n, k, STAGE: tl.constexpr, WEIGHTED: tl.constexpr):  # type: ignore[no-untyped-def]
    """The weight of the draw at each rank; 0 beyond the list."""
    rank = r.to(tl.float64) + 1.0
    aim = tl.where(r < n, 1.0, 0.0).to(tl.float64)
    if STAGE == 1:
        final = tl.exp2(1.0 - n.to(tl.float64))
        aim *= (tl.exp2(1.0 - rank) - final) / tl.where(final < 1.0, 1.0 - final, 1.0)
    if STAGE == 2:
        aim *= discount_of(rank)
    if STAGE == 3:
        aim = tl.where(r < k, aim, 0.0)
    if WEIGHTED:
        aim *= tl.load(weights + row, mask=r < n, other=0.0)
    return aim
