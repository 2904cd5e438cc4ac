"""AP correlation: Kendall's tau that cares more about the top."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats, Ints
from rankloop._jit import kernel
from rankloop.lists import Ranked
from rankloop.metrics.kernels.lists import MetricLists, Values
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.pairs import add_to, grades, sum_below

__all__ = ["ap_correlation"]


@measure("ap_correlation", "tau_ap", bounded=False)
def ap_correlation(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike, *, ties: str = "average", empty: str = "nan"
) -> Values:
    r"""AP correlation of each list (Yilmaz et al., 2008), from -1 to 1: errors at the top cost more.

    .. math:: \tau_{ap} = \frac{2}{n - 1} \sum_{r=2}^{n} \frac{C(r)}{r - 1} - 1

    where C(r) counts the documents above rank r that have a better label than the one there. Documents
    with equal labels count half a pair in order: the expected value over orders of the truth, as ties
    in score do over orders of the ranking (Urbano & Marrero, 2017). Equal labels throughout give nan.

    >>> ap_correlation([3.0, 2.0, 1.0], [2, 0, 1], [0, 3])
    array([0.5])
    """
    lists = MetricLists.of(scores, labels, offsets)
    longest = lists.longest
    ranked = lists.ranked(ties)
    made = lists.fill(_ap_correlation, ranked, lists.offsets, longest)
    return lists.blank(made, np.isnan(made), empty)


@kernel
def _ap_correlation(
    ranked: Ranked, offsets: Ints, longest: int, values: Floats, first: int, last: int
) -> None:
    grade = np.empty(longest, np.int64)
    number = np.zeros(longest + 1)
    for q in range(first, last):
        start = offsets[q]
        n = offsets[q + 1] - start
        top = grades(ranked.labels[start : start + n], grade)
        if top < 2:
            values[q] = np.nan
            continue
        number[: top + 1] = 0
        total = 0.0
        i = 0
        while i < n:
            right = 0.0
            j = i
            while j == i or (j < n and ranked.tied[start + j]):
                right += i - (sum_below(number, grade[j]) + sum_below(number, grade[j] + 1)) / 2
                j += 1
            size = j - i
            for place in range(i, j):
                if place > 0:  # the pairs with documents above the tie, and those within it: half in order
                    total += (right / size + (place - i) / 2) / place
            for d in range(i, j):
                add_to(number, grade[d], top, 1.0)
            i = j
        values[q] = 2 * total / (n - 1) - 1
