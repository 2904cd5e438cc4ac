"""The best few documents of one list, found without sorting it."""

from rankloop._arrays import Floats, Ints32
from rankloop._jit import inlined

__all__ = ["FEW", "GROUPS", "pick_best"]

FEW = 20  # documents that are cheaper to pick than to sort all
GROUPS = 32  # as many as there are groups for them
_HALF = 16  # groups for up to _SHALLOW documents
_SHALLOW = 10


@inlined
def pick_best(scores: Floats, depth: int, best: Floats, row: Ints32) -> int:
    """Write to `row` where the best `depth` scores stand, all that tie with the last of them, and a few more.

    They keep their order; their number is returned. The list has at least 4 * depth + 12 scores, `depth` is
    at most FEW, `best` has GROUPS places and `row` one more than there are scores.

    Documents are dealt into groups, half as many again as `depth` or more. At least `depth` documents reach
    the depth-th best of the groups' maxima, so that all below this bound can be left out.
    """
    enough = _bound(scores, depth, best, _HALF) if depth <= _SHALLOW else _bound(scores, depth, best, GROUPS)
    # Keep what reaches it: `found` moves on by the comparison itself, so that no branch is guessed wrong.
    found = 0
    for i in range(len(scores)):
        row[found] = i
        found += scores[i] >= enough
    return found


@inlined
def _bound(scores: Floats, depth: int, best: Floats, groups: int) -> float:
    """The depth-th best maximum of a group; `groups` is a constant to the compiler, which unrolls loops."""
    for g in range(groups):
        best[g] = scores[g]
    for at in range(groups, len(scores) - groups + 1, groups):
        for g in range(groups):
            best[g] = scores[at + g] if scores[at + g] > best[g] else best[g]
    # Sort from the nearer end, only as far as the bound, by exchanges without a branch.
    if 2 * depth <= groups:
        for turn in range(depth):
            for g in range(groups - 1, turn, -1):
                left, right = best[g - 1], best[g]
                best[g - 1] = left if left > right else right
                best[g] = right if left > right else left
    else:
        for turn in range(groups - depth + 1):
            for g in range(groups - 1 - turn):
                left, right = best[g], best[g + 1]
                best[g] = left if left > right else right
                best[g + 1] = right if left > right else left
    return float(best[depth - 1])
