"""A reader who goes down a list and stops at what satisfies."""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Floats
from rankloop._jit import kernel, over_lists, part
from rankloop.lists import Gain, Ranked
from rankloop.lists.kernels.gain_of import gain_of
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff

__all__ = ["stopping"]

NEGLIGIBLE = 1e-20


def stopping(
    lists: MetricLists,
    k: int | None,
    ties: str,
    gain: Gain,
    share: float,
    by_rank: Callable[[Floats], Floats],
) -> Values:
    """Per list the expected value of the rank where a reader stops: 1 / rank for ERR.

    A document stops the reader with probability gain x share (x item weight); one who reaches rank k goes
    away.
    """
    longest = lists.longest
    ranked = lists.ranked(ties, k)
    worth = by_rank(np.arange(1.0, longest + 1))
    made = np.empty(lists.n_lists)

    def work(first: int, last: int) -> None:
        room = np.empty(longest), np.empty(longest + 1), np.empty(longest + 1)
        _stopping(ranked, cutoff(k), *gain, share, worth, *room, made, first, last)

    over_lists(work, lists.offsets)
    return made


@kernel
def _stopping(
    ranked: Ranked,
    k: int,
    kind: int,
    table: Floats,
    share: float,
    by_rank: Floats,
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
        some = k if k < n else n  # and through the tie that straddles k
        while some < n and tied[start + some]:
            some += 1
        n = some
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
                total += going_on * stop[i] * by_rank[i]
                going_on *= 1 - stop[i]
            else:
                while j < n and tied[start + j]:
                    j += 1
                total += going_on * _tie(stop, i, j, k, by_rank, survival, chance)
                for d in range(i, j):
                    going_on *= 1 - stop[d]
            i = j
        values[q] = total


@part
def _tie(
    stop: Floats, above: int, end: int, k: int, by_rank: Floats, survival: Floats, chance: Floats
) -> float:
    """Expected contribution of the tie of ranks above + 1 to end, over all orders of its documents.

    `survival[x]` is the mean of the products of (1 - R) over all x of its relevant documents (their
    elementary symmetric sums, normalised: every step is a weighted mean, so nothing cancels or
    overflows); `chance[x]` is the chance that x of them came before a place.
    """
    if end - above == 2:  # by far the most frequent
        either = (stop[above] + stop[above + 1]) / 2
        later = (either - stop[above] * stop[above + 1]) * by_rank[above + 1]
        return float(either * by_rank[above] + (later if k >= end else 0.0))
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
        total += here * by_rank[place]
    return total
