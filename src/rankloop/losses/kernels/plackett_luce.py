"""The Plackett-Luce likelihood of an order, with ties: the core of the ListMLE losses."""

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel, over_lists
from rankloop.losses.kernels.lists import LossLists
from rankloop.losses.kernels.logsum import NOTHING, add_logs
from rankloop.losses.loss_result import LossResult

__all__ = ["plackett_luce"]


def plackett_luce(lists: LossLists, order: Ints, blocks: Ints, stage: Floats) -> LossResult:
    """Minus the log-likelihood of drawing the documents one by one in the given order.

    `stage` is the weight of each draw, by rank. Documents that share a number in `blocks` (by rank) are tied:
    by Efron's approximation the m-th draw of a block of d has (1 - m/d) of the block still in the race.
    """
    made = LossResult.zeros(lists.n_lists, lists.n_documents)
    weight = lists.item_weight

    def work(first: int, last: int) -> None:
        _draw_lists(first, last, lists.scores, lists.offsets, weight, order, blocks, stage, *made)

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
    value: Floats,
    gradient: Floats,
    hessian: Floats,
) -> None:
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        left = np.empty(stop - start + 1)  # by rank: log of what is in the race from there on
        left[stop - start] = NOTHING
        for k in range(stop - 1, start - 1, -1):
            left[k - start] = add_logs(left[k - start + 1], scores[order[k]])
        pull, pull2 = NOTHING, NOTHING  # logs of the sums of c / Z and c / Z^2 over the draws so far
        begin = start
        while begin < stop:
            end = begin + 1
            tied, mean, share = scores[order[begin]], weight[order[begin]], stage[begin]
            while end < stop and blocks[end] == blocks[begin]:
                tied = add_logs(tied, scores[order[end]])
                mean += weight[order[end]]
                share += stage[end]
                end += 1
            d = end - begin
            own, own2 = pull, pull2  # the same for the documents of this block
            for m in range(d):
                c = np.log(stage[begin + m] * mean / d) if stage[begin + m] * mean > 0.0 else NOTHING
                remains = np.log(1.0 - m / d)
                race = add_logs(left[end - start], tied + remains)
                value[q] += stage[begin + m] * mean / d * race
                own = add_logs(own, c + remains - race)
                own2 = add_logs(own2, c + 2.0 * (remains - race))
                pull = add_logs(pull, c - race)
                pull2 = add_logs(pull2, c - 2.0 * race)
            for k in range(begin, end):
                i = order[k]
                wanted = weight[i] * share / d
                value[q] -= wanted * scores[i]
                softmax = np.exp(scores[i] + own)
                gradient[i] = softmax - wanted
                hessian[i] = max(softmax - np.exp(2.0 * scores[i] + own2), 0.0)
            begin = end
