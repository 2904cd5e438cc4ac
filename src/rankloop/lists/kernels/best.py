"""The best few documents of one list, found without sorting it."""

import numpy as np

from rankloop._arrays import Floats, Ints32
from rankloop._jit import inlined

__all__ = ["FEW", "GROUPS", "pick_best"]

FEW = 20  # documents that are cheaper to pick than to sort all
GROUPS = 32  # as many as there are groups for them


@inlined
def pick_best(scores: Floats, depth: int, best: Floats, row: Ints32) -> int:
    """Write to `row` where the best `depth` scores stand, all that tie with the last of them, and a few more.

    They keep their order; their number is returned. The list has at least 4 * depth + 8 scores, `depth` is at
    most FEW, `best` has GROUPS places and `row` one more than there are scores.

    Documents are dealt into about 1.5 * depth groups. At least `depth` of them reach the depth-th best of
    the groups' maxima, so that all below this bound can be left out.
    """
    # The bound: the depth-th best maximum of a group, found by counting, without a sort.
    n = len(scores)
    groups = (depth + depth // 2 + 7) // 8 * 8  # whole vectors
    for g in range(groups):
        best[g] = scores[g]
    for at in range(groups, n - groups + 1, groups):
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
    for i in range(n):
        row[found] = i
        found += scores[i] >= enough
    return found
