"""Ties of scores in lists by rank: what a rank means where several documents share it."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bools, Floats, Ints
from rankloop._jit import kernel

__all__ = ["EVERY", "TiedRanks", "any_tie", "tied_means", "tied_ranks", "untied_ranks", "within_ties"]

EVERY = 2**62  # no truncation


class TiedRanks(NamedTuple):
    """Lists by rank with their ties, and which lists have any.

    Tied documents have no order: whatever depends on a rank counts as its mean over their orders. By rank:
    where the tie ends (one past its last row), its size, twice its mean rank, the chance that a document of
    it is ranked above the truncation, and that one of two does. By list: the ranks that can. Without ties
    the arrays are empty (`untied_ranks`), and `reach` is where all ranks count.
    """

    end: Ints
    size: Ints
    middle: Ints
    share: Floats
    either: Floats
    reach: Ints
    tied: Bools


def tied_ranks(
    scores: Floats, offsets: Ints, truncation: int | None, labels: Floats | None = None
) -> TiedRanks:
    """The ties of lists that are in order of score; with `labels`, only equal labels tie.

    >>> ranks = tied_ranks(np.array([3.0, 1.0, 1.0, 0.0]), np.array([0, 4]), 2)
    >>> ranks.end, ranks.middle, ranks.share, ranks.reach
    (array([1, 3, 3, 4]), array([2, 5, 5, 8]), array([1. , 0.5, 0.5, 0. ]), array([3]))
    """
    n, lists = len(scores), len(offsets) - 1
    end, size, middle = np.empty((3, n), np.int64)
    share, either = np.empty((2, n))
    made = TiedRanks(end, size, middle, share, either, np.empty(lists, np.int64), np.empty(lists, np.bool_))
    _tie(
        scores,
        np.zeros(0) if labels is None else labels,
        offsets,
        EVERY if truncation is None else truncation,
        *made,
    )
    return made


_NO_FLOATS, _NO_INTS = np.zeros(0), np.zeros(0, np.int64)
UNTIED = TiedRanks(_NO_INTS, _NO_INTS, _NO_INTS, _NO_FLOATS, _NO_FLOATS, _NO_INTS, np.zeros(0, np.bool_))


def untied_ranks(lists: int, truncation: int | None = None) -> TiedRanks:
    """Ranks where no list has a tie, or where ties mean nothing; what a tie would need is left empty."""
    return UNTIED if truncation is None else UNTIED._replace(reach=np.full(lists, truncation))


@kernel
def any_tie(scores: Floats, order: Ints, offsets: Ints) -> bool:
    """Whether two scores of one list are equal; `order` has the rows of each list by score."""
    for q in range(offsets.size - 1):
        for k in range(offsets[q] + 1, offsets[q + 1]):
            if scores[order[k]] == scores[order[k - 1]]:
                return True
    return False


@kernel
def _tie(
    scores: Floats,
    labels: Floats,
    offsets: Ints,
    truncation: int,
    end: Ints,
    size: Ints,
    middle: Ints,
    share: Floats,
    either: Floats,
    reach: Ints,
    tied: Bools,
) -> None:
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        tied[q] = False
        reach[q] = truncation
        i = start
        while i < stop:
            j = i + 1
            while j < stop and scores[j] == scores[i] and (labels.size == 0 or labels[j] == labels[i]):
                j += 1
            m, inside = j - i, min(max(truncation - (i - start), 0), j - i)
            below = float(m - inside)
            if m > 1:
                tied[q] = True
            if 0 < inside < m:
                reach[q] = j - start
            twice, above, one_of_two = (i - start) + (j - start) + 1, float(inside), float(inside)
            if m > 1:
                above, one_of_two = inside / m, 1.0 - below * (below - 1.0) / (m * (m - 1.0))
            for k in range(i, j):
                end[k], size[k], middle[k], share[k], either[k] = j, m, twice, above, one_of_two
            i = j


@kernel
def tied_means(values: Floats, ranks: TiedRanks, offsets: Ints, truncation: int) -> Floats:
    """By rank the mean of the values over its tie; those below the truncation count as 0."""
    made = np.empty(values.size)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        i = start
        while i < stop:
            total = 0.0
            for k in range(i, ranks.end[i]):
                total += values[k] if k - start < truncation else 0.0
            mean = total / ranks.size[i]
            for k in range(i, ranks.end[i]):
                made[k] = mean
            i = ranks.end[i]
    return made


@kernel
def within_ties(values: Floats, ranks: TiedRanks, offsets: Ints, truncation: int) -> Floats:
    """By rank the mean difference of two places of its tie, 0 where both lie below the truncation.

    The values fall with the rank, so that each place is added as often as it is the upper of two, and
    subtracted as often as it is the lower.
    """
    made = np.zeros(values.size)
    for q in range(offsets.size - 1):
        start, stop = offsets[q], offsets[q + 1]
        i = start
        while i < stop:
            j, m = ranks.end[i], ranks.size[i]
            if m > 1:
                inside, total = min(max(truncation - (i - start), 0), m), 0.0
                for p in range(m):
                    total += values[i + p] * ((m - 1 - p if p < inside else 0) - min(p, inside))
                for k in range(i, j):
                    made[k] = total / (0.5 * m * (m - 1))
            i = j
    return made
