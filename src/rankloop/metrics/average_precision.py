"""Average precision."""

from math import lgamma
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop._jit import in_python, interpreted_by, kernel, part
from rankloop._names import one_of
from rankloop.lists import Gain, Ranked, top_lists
from rankloop.lists.kernels.untied import Untied
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff
from rankloop.metrics.kernels.measure import measure
from rankloop.metrics.kernels.top_relevant import TopRelevant, WeightedAtRank

__all__ = ["average_precision"]

DIVIDE_BY = ("relevant", "reachable", "found")


@measure("map", "ap", reads="top")
def average_precision(
    scores: ArrayLike,
    labels: ArrayLike,
    offsets: ArrayLike,
    *,
    divide_by: str = "relevant",
    **options: Unpack[WeightedAtRank],
) -> Values:
    r"""The mean precision at the ranks of relevant documents; its mean over lists is MAP.

    .. math:: \mathrm{AP@k} = \frac{1}{R} \sum_{r \le k} \mathrm{rel}_r P_r,\quad
        P_r = \frac{1}{r} \sum_{i \le r} \mathrm{rel}_i

    `divide_by` says what R counts: all `"relevant"` documents, those `"reachable"` within k (at most k, so
    that the best order gives 1), or those `"found"` within k.

    With item weights a relevant document counts for its weight, at its own rank and in the precision at the
    ranks below it, and R is what the best order, by falling weight, adds up to:

    .. math:: \mathrm{AP} = \frac{1}{R} \sum_r \frac{w_r \mathrm{rel}_r}{r}
        \Big( 1 + \sum_{i < r} w_i \mathrm{rel}_i \Big)

    >>> average_precision([3.0, 2.0, 1.0], [1, 0, 1], [0, 3]).round(4)
    array([0.8333])
    >>> average_precision([3.0, 2.0, 1.0], [1, 0, 1], [0, 3], k=1, divide_by="found")
    array([1.])
    """
    top = TopRelevant(scores, labels, offsets, **options)
    lists, k, relevance_threshold = top.lists, top.k, top.relevance_threshold
    found = one_of("divide_by", divide_by, DIVIDE_BY) == "found"
    if found and len(lists.weight):
        raise ValueError("item weights need divide_by='relevant' or 'reachable', got 'found'")
    ranked = lists.ranked(top.ties, k)
    use = _average_found if found else _average_precision
    made = lists.fill(use, ranked, cutoff(k), np.float32(relevance_threshold))
    if not found:
        reached = k if divide_by == "reachable" else None
        base = _best_sum(lists, reached, relevance_threshold, top.total.number)
        with np.errstate(invalid="ignore"):
            made /= base
    return top.blank(made)


def _best_sum(lists: MetricLists, k: int | None, relevance_threshold: float, number: Values) -> Values:
    """What the best order adds up to: without weights one for every relevant document that k reaches."""
    if not len(lists.weight):
        return np.minimum(number, cutoff(k))
    amounts = lists.weighted(Gain.binary(relevance_threshold)(lists.labels))
    best = top_lists(amounts, lists.labels, lists.weight, lists.offsets, k, average=False)
    return lists.fill(_average_precision, best, cutoff(k), np.float32(relevance_threshold))


def _average_with_numpy(
    ranked: Ranked, k: int, relevance_threshold: np.float32, values: Floats, first: int, last: int
) -> None:
    alone = Untied.of(ranked, k, first, last)
    relevant = ranked.labels[alone.place] >= relevance_threshold
    owner, rank = alone.owner[relevant], alone.rank[relevant]
    number = np.arange(len(owner)) - np.searchsorted(owner, owner) + 1  # of relevant documents to this one
    values[first:last] = np.bincount(owner - first, number / rank, last - first)  # it adds in their order
    for q in alone.others:
        in_python(_average_precision)(ranked, k, relevance_threshold, values, q, q + 1)


@interpreted_by(_average_with_numpy)
@kernel
def _average_precision(
    ranked: Ranked, k: int, relevance_threshold: np.float32, values: Floats, first: int, last: int
) -> None:
    """The sum of precisions at relevant ranks, each times its weight."""
    labels, weight, tied = ranked.labels, ranked.weight, ranked.tied
    for q in range(first, last):
        start = ranked.start[q]
        end = start + ranked.kept[q]
        total = 0.0
        before = 0.0  # the weight of the relevant documents above this tie
        i = start
        while i < end and i - start < k:
            j = i + 1
            if j == end or not tied[j]:
                w = float(weight[i]) if len(weight) > 0 else 1.0
                alone = w if labels[i] >= relevance_threshold else 0.0
                total += alone * (before + 1) / (j - start)
                before += alone
            else:
                mass = 0.0
                squares = 0.0
                j = i
                while j == i or (j < end and tied[j]):
                    if labels[j] >= relevance_threshold:
                        w = float(weight[j]) if len(weight) > 0 else 1.0
                        mass += w
                        squares += w * w
                    j += 1
                if mass > 0:
                    until = j - start if j - start < k else k
                    others = mass - squares / mass  # of a relevant document, drawn by weight
                    total += mass * _tie_precision(before, others, i - start, j - i, until)
                before += mass
            i = j
        values[q] = total


@kernel
def _average_found(
    ranked: Ranked, k: int, relevance_threshold: np.float32, values: Floats, first: int, last: int
) -> None:
    """The same over the number of relevant documents found, which is random where a tie straddles k."""
    labels, tied = ranked.labels, ranked.tied
    for q in range(first, last):
        start = ranked.start[q]
        end = start + ranked.kept[q]
        total = 0.0
        before = 0.0  # relevant documents above this tie
        values[q] = 0.0
        i = start
        while i < end and i - start < k:
            relevant = 0.0
            j = i
            while j == i or (j < end and tied[j]):
                relevant += labels[j] >= relevance_threshold
                j += 1
            if j - start > k:
                values[q] = _cut_tie(total, before, int(relevant), i - start, j - i, start + k - i)
                break
            if relevant > 0:
                total += relevant * _tie_precision(before, relevant - 1, i - start, j - i, j - start)
            before += relevant
            values[q] = total / max(before, 1.0)
            i = j


@part
def _tie_precision(before: float, others: float, above: int, size: int, until: int) -> float:
    """Expected precision at a relevant document of a tie, for its places up to rank `until`.

    A given relevant document is at each place with the same chance; of the weight of the `others`, each
    place before it holds others / (size - 1).
    """
    if size == 1:
        return (before + 1) / (above + 1)
    step = others / (size - 1)
    total = 0.0
    for place in range(until - above):
        total += (before + 1 + place * step) / (above + place + 1)
    return total / size


@part
def _cut_tie(total: float, before: float, relevant: int, above: int, size: int, room: int) -> float:
    """Expected value when only `room` places of a tie are within k: a mean over how many relevant fit."""
    value = 0.0
    chance = 0.0
    for inside in range(max(0, room - (size - relevant)), min(relevant, room) + 1):
        p = np.exp(
            _log_choose(relevant, inside)
            + _log_choose(size - relevant, room - inside)
            - _log_choose(size, room)
        )
        chance += p
        if before + inside > 0:
            more = inside * _tie_precision(before, float(inside) - 1, above, room, above + room)
            value += p * (total + more) / (before + inside)
    return value / chance


@part
def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
