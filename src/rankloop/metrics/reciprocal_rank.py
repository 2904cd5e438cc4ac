"""Reciprocal rank: how soon the first relevant document comes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop._jit import kernel
from rankloop.metrics._lists import Lists, Values, cutoff
from rankloop.metrics._measure import measure
from rankloop.metrics._relevant import is_relevant

__all__ = ["reciprocal_rank"]


def reciprocal_rank(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    relevant_from: float = 1,
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
    pool_labels: ArrayLike | None = None,
    pool_offsets: ArrayLike | None = None,
) -> Values:
    r"""One over the rank of the first relevant document, 0 when it comes after `k`; its mean is MRR.

    .. math:: \mathrm{RR@k} = \frac{[r_1 \le k]}{r_1},\quad r_1 = \min \{r : l_r \ge \text{relevant\_from}\}

    With item weights it is the weight of that document over its rank.

    >>> reciprocal_rank([2.0, 1.0, 3.0], [1, 1, 0], [0, 3])
    array([0.5])
    """
    lists = Lists(scores, labels, offsets, weight, pool_labels, pool_offsets)
    return per_list(lists, k=k, relevant_from=relevant_from, ties=ties, empty=empty)


@measure(reciprocal_rank, "mrr", "rr", reads="top")
def per_list(lists: Lists, *, k: int | None, relevant_from: float, ties: str, empty: str) -> Values:
    nothing = lists.relevant(relevant_from).number == 0
    ranked = lists.ranked(ties, k)
    made = lists.fill(_reciprocal_rank, *ranked[:5], cutoff(k), np.float32(relevant_from))
    return lists.blank(made, nothing, empty)


@kernel
def _reciprocal_rank(
    labels: NDArray[np.float32],
    weight: NDArray[np.float32],
    tied: NDArray[np.bool_],
    starts: NDArray[np.int64],
    kept: NDArray[np.int64],
    k: int,
    relevant_from: np.float32,
    values: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    for q in range(first, last):
        start = starts[q]
        end = start + kept[q]
        values[q] = 0.0
        i = start
        while i < end and i - start < k:
            relevant = 0
            mass = 0.0
            j = i
            while j == i or (j < end and tied[j]):
                w = weight[j] if len(weight) > 0 else np.float32(1)
                if is_relevant(labels[j], w, relevant_from):
                    relevant += 1
                    mass += float(w)
                j += 1
            if relevant > 0:
                none_yet = 1.0  # the chance that no relevant document came before this place
                place = i
                while none_yet > 0 and place - start < k:
                    here = relevant / (j - place)
                    values[q] += none_yet * here / (place - start + 1)
                    none_yet *= 1 - here
                    place += 1
                values[q] *= mass / relevant
                break
            i = j
