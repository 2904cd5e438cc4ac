"""The Plackett-Luce likelihood of an order, a mean over orders of ties: the core of the ListMLE losses."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel, over_lists, part
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.logsum import NOTHING, add_logs
from rankloop.losses.loss_result import LossResult

__all__ = ["EXACT", "plackett_luce"]

EXACT = 8  # ties of up to so many documents are averaged over all their orders


def plackett_luce(lists: LossLists, order: Ints, blocks: Ints, stage: Floats, samples: int = 1) -> LossResult:
    """Minus the log-likelihood of drawing the documents one by one in the given order.

    `stage` is the weight of each draw, by rank. Documents that share a number in `blocks` (by rank) are tied:
    the result is the mean over their orders. A draw leaves a set in the race, and all sets of a size are
    equally likely: up to `EXACT` documents the mean goes over all sets. For more it goes over `samples`
    orders, rotations of the given one by even steps, every other one backwards; where the given order of a
    tie is random, so is each of them, and their mean is without bias.
    """
    made = LossResult.zeros(lists.n_lists, lists.n_documents)
    weight = lists.item_weight

    def work(first: int, last: int) -> None:
        _draw_lists(first, last, lists.scores, lists.offsets, weight, order, blocks, stage, samples, made)

    over_lists(work, lists.offsets)
    return made


@kernel
def _draw_lists(
    first: int,
    last: int,
    scores: Floats,
    offsets: Ints,
    weight: Floats,
    order: Ints,
    blocks: Ints,
    stage: Floats,
    samples: int,
    made: LossResult,
) -> None:
    value, gradient, hessian = made
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        left = np.empty(stop - start + 1)  # by rank: log of what is in the race from there on
        left[stop - start] = NOTHING
        for k in range(stop - 1, start - 1, -1):
            left[k - start] = add_logs(left[k - start + 1], scores[order[k]])
        pull, pull2 = NOTHING, NOTHING  # logs of the sums of c / Z and c / Z^2 over the draws so far
        begin = start
        while begin < stop:
            end, share = begin + 1, stage[begin]
            while end < stop and blocks[end] == blocks[begin]:
                share += stage[end]
                end += 1
            # The draws of higher blocks, in which all of this block were in the race; and the wanted scores.
            rows, d = order[begin:end], end - begin
            for i in rows:
                wanted = weight[i] * share / d
                value[q] -= wanted * scores[i]
                softmax = np.exp(scores[i] + pull)
                gradient[i] = softmax - wanted
                hessian[i] = max(softmax - np.exp(2.0 * scores[i] + pull2), 0.0)
            # The draws of this block.
            rest = left[end - start]
            if d <= EXACT:
                cost, more, more2 = _all_orders(
                    rows, stage[begin:end], rest, scores, weight, gradient, hessian
                )
            else:
                cost, more, more2 = _some_orders(
                    rows, stage[begin:end], rest, samples, scores, weight, gradient, hessian
                )
            value[q] += cost
            pull, pull2 = add_logs(pull, more), add_logs(pull2, more2)
            begin = end


@part
def _all_orders(
    rows: Ints, stage: Floats, rest: float, scores: Floats, weight: Floats, gradient: Floats, hessian: Floats
) -> tuple[float, float, float]:
    """The mean over all orders of a tie: over the sets that a draw can leave in the race, bit by bit."""
    d = rows.size
    sums, mass, size = np.empty(1 << d), np.empty(1 << d), np.empty(1 << d, np.int64)
    sums[0], mass[0], size[0] = NOTHING, 0.0, 0
    ways = np.ones(d + 1)  # how many sets there are of each size
    for k in range(1, d + 1):
        ways[k] = ways[k - 1] * (d - k + 1) / k
    cost, pull, pull2 = 0.0, NOTHING, NOTHING
    for chosen in range(1, 1 << d):
        lowest, low = chosen & -chosen, 0
        while (1 << low) != lowest:
            low += 1
        others, i = chosen - lowest, rows[low]
        sums[chosen] = add_logs(sums[others], scores[i])
        mass[chosen] = mass[others] + weight[i]
        size[chosen] = size[others] + 1
        number = size[chosen]
        c = stage[d - number] * mass[chosen] / (number * ways[number])
        if c <= 0.0:
            continue
        race = add_logs(rest, sums[chosen])
        cost += c * race
        pull, pull2 = add_logs(pull, np.log(c) - race), add_logs(pull2, np.log(c) - 2.0 * race)
        for k in range(d):
            if chosen >> k & 1:
                p = np.exp(scores[rows[k]] - race)
                gradient[rows[k]] += c * p
                hessian[rows[k]] += c * p * max(1.0 - p, 0.0)
    return cost, pull, pull2


@part
def _some_orders(
    rows: Ints,
    stage: Floats,
    rest: float,
    samples: int,
    scores: Floats,
    weight: Floats,
    gradient: Floats,
    hessian: Floats,
) -> tuple[float, float, float]:
    """The mean over some orders of a tie: rotations of the rows, every other one backwards."""
    d = rows.size
    race, at = np.empty(d), np.empty(d, np.int64)
    cost, pull, pull2 = 0.0, NOTHING, NOTHING
    for sample in range(samples):
        turn, total = sample * d // samples, rest
        for k in range(d):
            place = (turn + k) % d
            at[k] = rows[d - 1 - place if sample % 2 else place]
        for k in range(d - 1, -1, -1):
            total = add_logs(total, scores[at[k]])
            race[k] = total
        own, own2 = NOTHING, NOTHING  # over the draws of this order so far
        for k in range(d):
            i = at[k]
            c = stage[k] * weight[i] / samples
            if c > 0.0:
                cost += c * race[k]
                own, own2 = add_logs(own, np.log(c) - race[k]), add_logs(own2, np.log(c) - 2.0 * race[k])
            softmax = np.exp(scores[i] + own)
            gradient[i] += softmax
            hessian[i] += max(softmax - np.exp(2.0 * scores[i] + own2), 0.0)
        pull, pull2 = add_logs(pull, own), add_logs(pull2, own2)
    return cost, pull, pull2
