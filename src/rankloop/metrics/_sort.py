"""Documents of one list by falling score: all of them, or the best few with whatever ties them."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import part

__all__ = ["pick_best", "sort_all"]

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]

RUN = 16


@part
def sort_all(scores: Floats, key: Floats, row: Rows, spare: Floats, spare_row: Rows, slot: Rows) -> None:
    """Fill `key` with the scores, falling, and `row` with where each came from; ties keep their order.

    Scores are spread over twice as many buckets as there are documents, by value, which leaves them
    almost sorted; insertion finishes the work, and merging where the values are too skewed for that.
    """
    n = len(scores)
    high, low = _ends(scores)
    scale = (2 * n - 1) / (high - low)
    if not (high > low and high - low < np.inf and scale < np.inf):
        scale = 0.0  # all alike, or too far apart to spread: one bucket
    slot[: 2 * n + 1] = 0
    if scale > 0:
        for i in range(n):
            spare_row[i] = np.int32((high - scores[i]) * scale)
    else:
        for i in range(n):
            spare_row[i] = 0
    for i in range(n):
        slot[spare_row[i] + 1] += 1
    for i in range(2 * n):
        slot[i + 1] += slot[i]
    for i in range(n):
        at = slot[spare_row[i]]
        slot[spare_row[i]] = at + 1
        key[at] = scores[i]
        row[at] = i
    if not _insertion(key[:n], row[:n], 4 * n):
        _merge_sort(key, row, spare, spare_row, n)


@part
def _ends(scores: Floats) -> tuple[float, float]:
    """The highest and the lowest score; every second one apart, as one chain of comparisons would wait."""
    n = len(scores)
    high = low = scores[0]
    other_high = other_low = scores[n - 1]
    for i in range(0, n - 1, 2):
        high = max(high, scores[i])
        low = min(low, scores[i])
        other_high = max(other_high, scores[i + 1])
        other_low = min(other_low, scores[i + 1])
    return max(high, other_high), min(low, other_low)


@part
def pick_best(scores: Floats, best: Floats, row: Rows, depth: int) -> int:
    """Put the best `depth` documents, whatever ties the last of them and a few more first; how many.

    The documents fall into half as many groups again as are wanted: documents as good as the
    `depth`-th best of the groups' bests are enough. There must be four times as many as are wanted.
    """
    n = len(scores)
    groups = (depth + depth // 2 + 7) // 8 * 8  # whole vectors
    for g in range(groups):
        best[g] = scores[g]
    for first in range(groups, n - groups + 1, groups):
        for g in range(groups):
            best[g] = max(best[g], scores[first + g])
    enough = np.inf
    for g in range(groups):
        better = 0
        for other in range(groups):
            better += best[other] > best[g]
        if better < depth:
            enough = min(enough, best[g])
    found = 0
    for i in range(n):
        row[found] = i
        found += scores[i] >= enough
    for i in range(found):
        best[i] = scores[row[i]]
    return found


@part
def _insertion(key: Floats, row: Rows, moves: int) -> bool:
    """Insertion sort; gives up (in a state that keeps ties in order) after so many moves."""
    for i in range(1, len(key)):
        x = key[i]
        if key[i - 1] < x:
            r = row[i]
            j = i
            while j > 0 and key[j - 1] < x:
                key[j] = key[j - 1]
                row[j] = row[j - 1]
                j -= 1
            key[j] = x
            row[j] = r
            moves -= i - j
            if moves < 0:
                return False
    return True


@part
def _merge_sort(key: Floats, row: Rows, spare: Floats, spare_row: Rows, n: int) -> None:
    for first in range(0, n, RUN):
        _insertion(key[first : min(first + RUN, n)], row[first : min(first + RUN, n)], n * RUN)
    width = RUN
    while width < n:
        for first in range(0, n, 2 * width):
            middle = min(first + width, n)
            last = min(first + 2 * width, n)
            i = first
            j = middle
            for to in range(first, last):
                if j == last or (i < middle and key[i] >= key[j]):
                    spare[to] = key[i]
                    spare_row[to] = row[i]
                    i += 1
                else:
                    spare[to] = key[j]
                    spare_row[to] = row[j]
                    j += 1
        for i in range(n):
            key[i] = spare[i]
            row[i] = spare_row[i]
        width *= 2
