"""Rank-biased overlap of two rankings."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel, over_lists
from rankloop.lists import Lists, rank_lists
from rankloop.metrics.kernels.lists import Values
from rankloop.metrics.rbp import persistence

__all__ = ["rbo"]


def rbo(scores: ArrayLike, others: ArrayLike, offsets: ArrayLike, *, p: float = 0.9) -> Values:
    r"""RBO of two rankings of each list (Webber et al., 2010): the overlap of their first d, averaged over d.

    .. math:: \mathrm{RBO} = (1 - p) \sum_d p^{d - 1} \frac{|A_d \cap B_d|}{d}

    extrapolated to unseen ranks (RBO_ext). It needs no judgments, looks most at the top, and is 1 for equal
    rankings, 0 for rankings without a common document. `scores` and `others` are the scores of the same
    documents by two systems; -inf says that a system did not retrieve a document. Documents with equal
    scores keep the order of the rows. A list of which one system retrieved nothing has no value.

    >>> rbo([3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [0, 3]).round(4)
    array([1.])
    >>> rbo([2.0, 1.0, -np.inf], [-np.inf, 2.0, 1.0], [0, 3], p=0.5)  # a b, and b c
    array([0.25])
    """
    lists = Lists(scores, np.zeros(np.size(scores), np.float32), offsets)
    right = Lists(others, lists.labels, offsets).scores
    values = np.empty(lists.n_lists)
    orders = rank_lists(lists.scores, lists.offsets), rank_lists(right, lists.offsets)
    columns = lists.scores, right, *orders, lists.offsets, lists.longest, persistence(p)
    over_lists(lambda first, last: _overlap(*columns, values, first, last), lists.offsets)
    return values


@kernel
def _overlap(
    left: Floats,
    right: Floats,
    by_left: Ints,
    by_right: Ints,
    offsets: Ints,
    longest: int,
    p: float,
    values: Floats,
    first: int,
    last: int,
) -> None:
    seen = np.zeros(longest, np.uint8)
    for q in range(first, last):
        start = offsets[q]
        size = offsets[q + 1] - start
        # How many documents each system retrieved: the rest of its order has -inf.
        one = two = 0
        for i in range(start, start + size):
            one += left[i] > -np.inf
            two += right[i] > -np.inf
            seen[i - start] = 0
        shorter, longer = min(one, two), max(one, two)
        if shorter == 0:
            values[q] = np.nan
            continue
        # The overlap at each depth, and what the shorter list would add if it went on as before.
        common = 0
        common_short = 0
        total = 0.0
        weight = 1.0
        for depth in range(1, longer + 1):
            if depth <= one:
                row = by_left[start + depth - 1] - start
                common += seen[row] == 1
                seen[row] = 1
            if depth <= two:
                row = by_right[start + depth - 1] - start
                common += seen[row] == 1
                seen[row] = 1
            if depth == shorter:
                common_short = common
            weight *= p
            agreed = float(common)
            if depth > shorter:
                agreed += common_short * (depth - shorter) / shorter
            total += weight * agreed / depth
        rest = (common - common_short) / longer + common_short / shorter
        values[q] = (1 - p) / p * total + rest * weight
