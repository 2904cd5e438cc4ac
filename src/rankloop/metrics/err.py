"""Expected reciprocal rank."""

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._jit import kernel, over_lists, part
from rankloop.lists import Gain, Ranked, gains
from rankloop.lists.kernels.gain_of import gain_of
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.measure import measure

__all__ = ["err"]

NEGLIGIBLE = 1e-20
ANY = float(np.finfo(np.float32).smallest_subnormal)  # a label above 0


def err(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    k: int | None = None,
    max_label: float | None = None,
    gain: str = "exp2",
    ties: str = "average",
    empty: str = "nan",
    weight: ArrayLike | None = None,
    pool_labels: ArrayLike | None = None,
    pool_offsets: ArrayLike | None = None,
) -> Values:
    r"""ERR of each list (Chapelle et al., 2009): the expected reciprocal rank where a reader stops.

    .. math:: \mathrm{ERR@k} = \sum_{r \le k} \frac{1}{r} R_r \prod_{i < r} (1 - R_i),\quad
        R = \frac{2^l - 1}{2^{l_{\max}}}

    `max_label` is the best grade of the data set, not of a list: when it is not given it is the largest
    label of all lists given (and of their pools), so set it when you evaluate parts of a data set.

    With `gain="linear"` a reader stops with probability label / max_label.

    >>> err([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], max_label=1).round(4)
    array([0.5833])
    """
    lists = MetricLists(scores, labels, offsets, weight, pool_labels, pool_offsets)
    return per_list(lists, k=k, max_label=max_label, gain=gain, ties=ties, empty=empty)


@measure(err, "err", reads="top")
def per_list(
    lists: MetricLists, *, k: int | None, max_label: float | None, gain: str, ties: str, empty: str
) -> Values:
    largest = max(float(lists.labels.max(initial=0)), float(lists.pool_labels.max(initial=0)))
    if max_label is None:
        max_label = largest
    elif max_label < largest:
        raise ValueError(f"max_label is {max_label:g} but there is a label {largest:g}; give the best grade")
    if not isinstance(gain, str):
        raise ValueError("the gain of err is 'exp2' or 'linear': a table has no probabilities")
    kind, table = Gain.of(gain, np.array([max_label], np.float32))
    best = float(np.exp2(max_label)) if gain == "exp2" else max(max_label, 1e-300)
    if len(lists.weight) and _largest_gain(lists, gain) > best:
        raise ValueError(
            f"weight × gain / 2^max_label is a probability, got {_largest_gain(lists, gain) / best:g}; "
            "give a larger max_label or smaller weights"
        )
    longest = lists.longest
    ranked = lists.ranked(ties, k)
    made = np.empty(lists.n_lists)

    def work(first: int, last: int) -> None:
        room = np.empty(longest), np.empty(longest + 1), np.empty(longest + 1)
        _err(ranked, cutoff(k), kind, table, 1 / best, *room, made, first, last)

    over_lists(work, lists.offsets)
    return lists.blank(made, lists.relevant(ANY).number == 0, empty)


def _largest_gain(lists: MetricLists, gain: str) -> float:
    return float(np.max(lists.weighted(gains(lists.labels, gain)), initial=0))


@kernel
def _err(
    ranked: Ranked,
    k: int,
    kind: int,
    table: Floats,
    share: float,
    stop: Floats,
    survival: Floats,
    chance: Floats,
    values: Floats,
    first: int,
    last: int,
) -> None:
    labels, weight, tied = ranked.labels, ranked.weight, ranked.tied
    for q in range(first, last):
        start = ranked.start[q]
        n = ranked.kept[q]
        for i in range(n):
            stop[i] = gain_of(labels[start + i], kind, table) * share
        if len(weight) > 0:
            for i in range(n):
                stop[i] *= weight[start + i]
        total = 0.0
        going_on = 1.0
        i = start - start  # a literal 0 would have `_tie` compiled twice
        while i < n and i < k:
            j = i + 1
            if j == n or not tied[start + j]:
                total += going_on * stop[i] / j
                going_on *= 1 - stop[i]
            else:
                while j < n and tied[start + j]:
                    j += 1
                total += going_on * _tie(stop, i, j, k, survival, chance)
                for d in range(i, j):
                    going_on *= 1 - stop[d]
            i = j
        values[q] = total


@part
def _tie(stop: Floats, above: int, end: int, k: int, survival: Floats, chance: Floats) -> float:
    """Expected contribution of the tie of ranks above + 1 to end, over all orders of its documents.

    `survival[x]` is the mean of the products of (1 - R) over all x of its relevant documents (their
    elementary symmetric sums, normalised: every step is a weighted mean, so nothing cancels or
    overflows); `chance[x]` is the chance that x of them came before a place.
    """
    if end - above == 2:  # by far the most frequent
        either = (stop[above] + stop[above + 1]) / 2
        later = (either - stop[above] * stop[above + 1]) / end
        return float(either / (above + 1) + (later if k >= end else 0.0))
    relevant = 0
    top = 0  # beyond it survival is negligible
    survival[0] = 1.0
    chance[0] = 1.0
    for d in range(above, end):
        if stop[d] > 0:
            relevant += 1
            if top < k - above:
                top += 1
                survival[top] = 0.0
                chance[top] = 0.0
            for x in range(top, 0, -1):
                survival[x] = ((relevant - x) * survival[x] + x * (1 - stop[d]) * survival[x - 1]) / relevant
            while survival[top] < NEGLIGIBLE and top > 1 and survival[top - 1] < NEGLIGIBLE:
                top -= 1
    total = 0.0
    for place in range(above, end if end < k else k):
        left = end - place
        here = 0.0
        for x in range(top if top < place - above + 1 else place - above + 1, 0, -1):
            comes = chance[x - 1] * (relevant - x + 1) / left
            here += comes * (survival[x - 1] - survival[x])
            chance[x] = chance[x] * (left - relevant + x) / left + comes  # 0 before a factor is below 0
        chance[0] *= (left - relevant) / left
        total += here / (place + 1)
    return total
