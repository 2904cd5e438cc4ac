"""PL-Rank on a device: the rewards of drawn rankings, a program for each list and ranking.

In logarithms and double precision, as `losses.plrank`.
"""

from __future__ import annotations

from typing import Any

from rankloop.lists.tensors.discount_of import discount_of
from rankloop.lists.tensors.gains import gains
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.blocks import add_logs
from rankloop.losses.cuda.draws import gumbel_draws
from rankloop.losses.cuda.lists import DeviceLists
from rankloop.losses.cuda.orders import noisy_orders
from rankloop.losses.cuda.outcome import list_factor, mean_of_samples, outcome
from rankloop.losses.plrank import PLRank

__all__ = ["plrank"]

_DEEPEST = 2**30

Tensor = Any
Parts = tuple[Tensor, Tensor, Tensor]


def plrank(chosen: PLRank, lists: DeviceLists, wanted: dict[str, bool]) -> Parts:
    gain = lists.weighted(gains(lists.labels.double(), chosen.gain))
    scores = lists.scores.double()
    weights, switches = lists.weights, lists.switches

    def some(samples: range) -> Parts:
        noise = gumbel_draws(chosen.seed, samples, lists.n_documents, scores.device)
        order = noisy_orders(lists, noise.add_(scores))
        made = outcome(lists, curved=wanted["curved"], samples=len(samples))
        left = noise  # its numbers are not needed any more
        _ranking_costs[(lists.n_lists, len(samples))](
            scores, lists.labels, gain, weights[1], order, lists.offsets, left, *made,
            lists.n_documents, lists.n_lists, min(chosen.k, _DEEPEST), LISTED=switches["LISTED"],
            CONTRAST=switches["CONTRAST"], HESSIAN=wanted["curved"], WIDTH=128, num_warps=1,
        )  # fmt: skip
        return made

    return mean_of_samples(lists, chosen.samples, some)


@jit
def _ranking_costs(  # type: ignore[no-untyped-def]
    scores, labels, gains, by_list, order, offsets, race, value, gradient, hessian, rows, n_lists, k,
    LISTED: tl.constexpr, CONTRAST: tl.constexpr, HESSIAN: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    q, sample = tl.program_id(0), tl.program_id(1).to(tl.int64)
    start, stop = tl.load(offsets + q), tl.load(offsets + q + 1)
    n = (stop - start).to(tl.int32)
    factor = list_factor(labels, by_list, q, start, stop, LISTED, CONTRAST, WIDTH)
    order += sample * rows + start
    race += sample * rows + start
    gradient += sample * rows
    # From the last rank to the first: the log of who is left, and what all ranks earn.
    carried = tl.full([WIDTH], -1e300, tl.float64)
    earned = tl.zeros([WIDTH], tl.float64)
    chunks = (n + WIDTH - 1) // WIDTH
    for chunk in range(chunks):
        r = (chunks - 1 - chunk) * WIDTH + tl.arange(0, WIDTH)
        row = start + tl.load(order + r, mask=r < n, other=0)
        s = tl.load(scores + row, mask=r < n, other=-1e300)
        left = add_logs(tl.associative_scan(s, 0, add_logs, reverse=True), carried)
        carried = tl.zeros([WIDTH], tl.float64) + tl.max(left, 0)  # running sums only grow
        tl.store(race + r, left, mask=r < n)
        gain = tl.load(gains + row, mask=(r < n) & (r < k), other=0.0)
        earned += gain * discount_of(r.to(tl.float64) + 1.0)
    whole = tl.sum(earned, 0)
    tl.store(value + sample * n_lists + q, -factor * whole)
    tl.debug_barrier()  # other threads may read what these have written
    # From the first rank on: the logs of the sums of reward / race, discount / race and reward / race^2.
    lost = tl.full([WIDTH], -1e300, tl.float64)
    won = tl.full([WIDTH], -1e300, tl.float64)
    curved = tl.full([WIDTH], -1e300, tl.float64)
    drift = tl.zeros([WIDTH], tl.float64)
    ahead = tl.zeros([WIDTH], tl.float64)  # earned by the ranks of earlier chunks
    for low in range(0, n, WIDTH):
        r = low + tl.arange(0, WIDTH)
        there = r < n
        row = start + tl.load(order + r, mask=there, other=0)
        s = tl.load(scores + row, mask=there, other=-1e300)
        gain = tl.load(gains + row, mask=there, other=0.0)
        left = tl.load(race + r, mask=there, other=0.0)
        paid = there & (r < k)
        discount = discount_of(r.to(tl.float64) + 1.0)
        gained = tl.where(paid, gain * discount, 0.0)
        # The reward from the next rank on is summed backwards, so that it ends at 0 and not near it.
        after = tl.cumsum(gained, 0, reverse=True) - gained
        ahead += tl.sum(gained, 0)
        beyond = tl.where(low + WIDTH < k, tl.maximum(whole - ahead, 0.0), 0.0)
        after += beyond
        reward = after + gained
        worth = paid & (reward > 0)
        heavy = tl.where(worth, tl.log(tl.where(worth, reward, 1.0)), -1e300)
        a = add_logs(tl.associative_scan(heavy - left, 0, add_logs), lost)
        b = tl.where(paid, tl.log(discount) - left, -1e300)
        b = add_logs(tl.associative_scan(b, 0, add_logs), won)
        lost = tl.zeros([WIDTH], tl.float64) + tl.max(a, 0)
        won = tl.zeros([WIDTH], tl.float64) + tl.max(b, 0)
        pull = tl.exp(s + a)
        lambda_ = tl.where(there, pull - after - gain * tl.exp(s + b), 0.0)
        drift += lambda_
        tl.store(gradient + row, factor * lambda_, mask=there)
        if HESSIAN:
            c = add_logs(tl.associative_scan(heavy - 2.0 * left, 0, add_logs), curved)
            curved = tl.zeros([WIDTH], tl.float64) + tl.max(c, 0)
            hess = tl.maximum(pull - tl.exp(2.0 * s + c), 0.0)
            tl.store(hessian + sample * rows + row, factor * hess, mask=there)
    # A shift of all scores changes nothing: what is left of the sum is only noise.
    tl.debug_barrier()
    mean = factor * tl.sum(drift, 0) / tl.maximum(n, 1)
    for low in range(0, n, WIDTH):
        i = start + low + tl.arange(0, WIDTH)
        lambda_ = tl.load(gradient + i, mask=i < stop, other=0.0)
        tl.store(gradient + i, lambda_ - mean, mask=i < stop)
