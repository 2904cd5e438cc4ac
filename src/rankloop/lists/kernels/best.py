"""The best few documents of each list, found without sorting it."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import kernel, over_lists

__all__ = ["FEW", "Picked", "pick_best"]

FEW = 20  # documents that are cheaper to pick than to sort all


class Picked(NamedTuple):
    """Shorter lists: list q holds places `start[q]` to `start[q] + size[q]`."""

    scores: Floats
    labels: Singles
    weight: Singles
    start: Ints
    size: Ints


def pick_best(scores: Floats, labels: Singles, weight: Singles, offsets: Ints, depth: int) -> Picked:
    """The best `depth` documents of each list, all that tie with the last of them, and a few more.

    Short lists stay whole, and documents stay in their order.
    """
    lists = len(offsets) - 1
    picked = Picked(
        scores=np.empty(len(scores)),
        labels=np.empty(len(labels), np.float32),
        weight=np.empty(len(weight), np.float32),
        start=np.empty(lists, np.int64),
        size=np.empty(lists, np.int64),
    )
    longest = int(np.diff(offsets).max(initial=0))

    def work(first: int, last: int) -> None:
        best, row = np.empty(longest), np.empty(longest + 1, np.int64)
        _pick(scores, labels, weight, offsets, depth, best, row, *picked, first, last)

    over_lists(work, offsets)
    return picked


@kernel
def _pick(
    scores: Floats,
    labels: Singles,
    weight: Singles,
    offsets: Ints,
    depth: int,
    best: Floats,
    row: Ints,
    out_scores: Floats,
    out_labels: Singles,
    out_weight: Singles,
    out_start: Ints,
    out_size: Ints,
    first: int,
    last: int,
) -> None:
    """Documents are dealt into about 1.5 * depth groups. At least `depth` of them reach the depth-th best of
    the groups' maxima, so that all below this bound can be left out. Short lists stay whole.
    """
    groups = (depth + depth // 2 + 7) // 8 * 8  # whole vectors
    to = offsets[first]
    for q in range(first, last):
        start = offsets[q]
        n = offsets[q + 1] - start
        # The bound: the depth-th best maximum of a group, found by counting, without a sort.
        enough = -np.inf
        if n >= 4 * depth + 8:
            for g in range(groups):
                best[g] = scores[start + g]
            for at in range(start + groups, start + n - groups + 1, groups):
                for g in range(groups):
                    best[g] = max(best[g], scores[at + g])
            enough = np.inf
            for g in range(groups):
                better = 0
                for other in range(groups):
                    better += best[other] > best[g]
                if better < depth:
                    enough = min(enough, best[g])
        # Keep what reaches it: `found` moves on by the comparison itself, so that no branch is guessed wrong.
        found = 0
        for i in range(start, start + n):
            row[found] = i
            found += scores[i] >= enough
        out_start[q] = to
        out_size[q] = found
        for i in range(found):
            out_scores[to + i] = scores[row[i]]
            out_labels[to + i] = labels[row[i]]
        if len(weight) > 0:
            for i in range(found):
                out_weight[to + i] = weight[row[i]]
        to += found
