"""Average precision inferred from judgments of a random part of the pool."""

from math import lgamma
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._jit import kernel, part
from rankloop.lists import Ranked
from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import JudgedRelevant, TopRelevant

__all__ = ["infap"]

EPSILON = 0.00001  # of trec_eval: smooths the share of relevant documents above


@measure("infap")
def infap(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[JudgedRelevant]
) -> Values:
    r"""infAP of each list (Yilmaz & Aslam, 2006): average precision from a judged sample of the pool.

    .. math:: \mathrm{infAP} = \frac{1}{R} \sum_{\text{relevant at } r} \frac{1}{r} \left(
        1 + p_r \frac{a_r + \epsilon}{a_r + b_r + 2 \epsilon} \right)

    with :math:`a_r` judged relevant, :math:`b_r` judged irrelevant and :math:`p_r` pooled documents above
    rank r. `judged` is 1 (or True) for judged documents, 0 for pooled ones that were not sampled, -1 for
    documents that were not in the pool, which count as irrelevant. In qrels a label of -1 marks those that
    were not sampled. As in trec_eval. Where all are judged it is average precision, up to the smoothing.

    >>> infap([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], judged=[True, False, True]).round(4)
    array([1.])
    """
    top = TopRelevant(scores, labels, offsets, **options)
    ranked, threshold = top.lists.ranked_states(top.ties), np.float32(top.relevance_threshold)
    return top.blank(top.lists.fill(_inferred, ranked, threshold) / np.maximum(top.total.number, 1))


@kernel
def _inferred(ranked: Ranked, relevance_threshold: np.float32, values: Floats, first: int, last: int) -> None:
    states, tied = ranked.labels, ranked.tied
    for q in range(first, last):
        start = ranked.start[q]
        end = start + ranked.kept[q]
        above = (0, 0, 0)  # relevant, judged irrelevant and other pooled documents above this tie
        values[q] = 0.0
        i = start
        while i < end:
            relevant, irrelevant, waiting = 0, 0, 0
            j = i
            while j == i or (j < end and tied[j]):
                relevant += states[j] >= relevance_threshold
                irrelevant += states[j] >= 0 and states[j] < relevance_threshold
                waiting += states[j] == -1
                j += 1
            own = (relevant, irrelevant, waiting)
            if relevant > 0:
                total = 0.0
                for place in range(j - i):
                    total += _value(above, own, j - i, place) / (i - start + place + 1)
                values[q] += relevant * total / (j - i)
            above = (above[0] + relevant, above[1] + irrelevant, above[2] + waiting)
            i = j


@part
def _value(above: tuple[int, int, int], own: tuple[int, int, int], size: int, place: int) -> float:
    """1 + the expected number of relevant documents above a relevant one that is at `place` of its tie.

    Of the `size` - 1 others, `place` come before it, in any choice. Given how many of them are judged, the
    numbers of relevant and of pooled ones are independent, and the value is linear in both.
    """
    judged = own[0] - 1 + own[1]
    rest = size - 1 - judged
    relevant_share = (own[0] - 1) / judged if judged > 0 else 0.0
    waiting_share = own[2] / rest if rest > 0 else 0.0
    total = 0.0
    chances = 0.0
    for before in range(max(0, place - rest), min(place, judged) + 1):
        chance = 1.0
        if judged > 0 and rest > 0 and place > 0:
            chance = np.exp(
                _log_choose(judged, before) + _log_choose(rest, place - before) - _log_choose(size - 1, place)
            )
        pooled = above[0] + above[1] + above[2] + before + (place - before) * waiting_share
        relevant = above[0] + before * relevant_share + EPSILON
        total += chance * pooled * relevant / (above[0] + above[1] + before + 2 * EPSILON)
        chances += chance
    return 1 + total / chances


@part
def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
