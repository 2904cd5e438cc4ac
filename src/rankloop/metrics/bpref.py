"""Binary preference: relevant documents above judged irrelevant ones."""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._jit import kernel
from rankloop.lists import Ranked
from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import JudgedRelevant, TopRelevant

__all__ = ["bpref"]


@measure("bpref")
def bpref(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, **options: Unpack[JudgedRelevant]
) -> Values:
    r"""bpref of each list (Buckley & Voorhees, 2004), which reads judged documents only.

    .. math:: \mathrm{bpref} = \frac{1}{R} \sum_{\text{relevant } d} 1 - \frac{\min(n_d, R)}{\min(N, R)}

    with :math:`n_d` judged irrelevant documents above the relevant document d, and R relevant and N
    irrelevant documents among all judged. Relevant documents that were not retrieved add nothing. As in
    trec_eval.

    >>> bpref([4.0, 3.0, 2.0, 1.0], [0, 0, 1, 1], [0, 4], judged=[False, True, True, True])
    array([0.])
    >>> bpref([4.0, 3.0, 2.0, 1.0], [0, 1, 0, 1], [0, 4], judged=[False, True, True, True])
    array([0.5])
    """
    top = TopRelevant(scores, labels, offsets, **options)
    lists, relevant = top.lists, top.total.number
    irrelevant = lists.pool_holes.counts(lists.pool_offsets)[0] - relevant
    most, threshold = np.minimum(relevant, irrelevant), np.float32(top.relevance_threshold)
    found = lists.fill(_preferences, lists.ranked_states(top.ties), threshold, most)
    return top.blank(found / np.maximum(relevant, 1))


@kernel
def _preferences(
    ranked: Ranked, relevance_threshold: np.float32, most: Floats, values: Floats, first: int, last: int
) -> None:
    states, tied = ranked.labels, ranked.tied
    for q in range(first, last):
        start = ranked.start[q]
        end = start + ranked.kept[q]
        bound = most[q] if most[q] > 1 else 1.0
        above = 0  # judged irrelevant documents above this tie
        values[q] = 0.0
        i = start
        while i < end:
            relevant = 0
            irrelevant = 0
            j = i
            while j == i or (j < end and tied[j]):
                relevant += states[j] >= relevance_threshold
                irrelevant += states[j] >= 0 and states[j] < relevance_threshold
                j += 1
            if relevant > 0:
                lost = 0.0  # a relevant document has 0, 1, ... of the tie's irrelevant ones above it alike
                for more in range(irrelevant + 1):
                    lost += min(float(above + more), bound)
                values[q] += relevant * (1 - lost / (irrelevant + 1) / bound)
            above += irrelevant
            i = j
