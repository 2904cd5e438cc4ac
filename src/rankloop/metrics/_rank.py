"""Lists by falling score, in the form that every metric reads."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, over_lists
from rankloop.metrics._sort import pick_best, sort_all

__all__ = ["Ranked", "rank_lists"]

Singles = NDArray[np.float32]

FEW = 20  # documents that are cheaper to pick than to sort all


class Ranked(NamedTuple):
    """The best documents of each list in order: list q holds places `start[q]` to `start[q] + kept[q]`.

    `tied` marks documents that tie with the one before. A tie is never cut: where it straddles the
    depth, all of it is here. `weight` is empty when there are no item weights.
    """

    labels: Singles
    weight: Singles
    tied: NDArray[np.bool_]
    start: NDArray[np.int64]
    kept: NDArray[np.int64]
    depth: int

    def reaches(self, depth: int | None) -> bool:
        return self.depth >= (np.iinfo(np.int64).max if depth is None else depth)


def rank_lists(
    scores: NDArray[np.float64],
    labels: Singles,
    weight: Singles,
    offsets: NDArray[np.int64],
    depth: int | None,
    average: bool,
) -> Ranked:
    """Rank every list, to a depth or completely; ties keep their order, and are marked if `average`."""
    ranked = Ranked(
        labels=np.empty(len(labels), np.float32),
        weight=np.empty(len(weight), np.float32),
        tied=np.empty(len(labels), np.bool_),
        start=np.empty(len(offsets) - 1, np.int64),
        kept=np.empty(len(offsets) - 1, np.int64),
        depth=int(np.iinfo(np.int64).max) if depth is None else depth,
    )
    longest = int(np.diff(offsets).max(initial=0))

    def work(first: int, last: int) -> None:
        _rank_lists(
            scores, labels, weight, offsets, ranked.depth, average, longest,
            ranked.labels, ranked.weight, ranked.tied, ranked.start, ranked.kept, first, last,
        )  # fmt: skip

    over_lists(work, offsets)
    return ranked


@kernel
def _rank_lists(
    scores: NDArray[np.float64],
    labels: Singles,
    weight: Singles,
    offsets: NDArray[np.int64],
    depth: int,
    average: bool,
    longest: int,
    out_labels: Singles,
    out_weight: Singles,
    out_tied: NDArray[np.bool_],
    out_start: NDArray[np.int64],
    out_kept: NDArray[np.int64],
    first: int,
    last: int,
) -> None:
    key = np.empty(longest, np.float64)
    row = np.empty(longest, np.int32)
    spare = np.empty(longest, np.float64)
    spare_row = np.empty(longest, np.int32)
    slot = np.empty(2 * longest + 1, np.int32)
    best = np.empty(longest, np.float64)
    best_row = np.empty(longest, np.int32)
    to = offsets[first]  # what was kept is written without gaps, so that metrics read it fast
    for q in range(first, last):
        start = offsets[q]
        n = offsets[q + 1] - start
        out_start[q] = to
        out_kept[q] = 0
        if n == 0:
            continue
        own = scores[start : start + n]
        some = depth <= FEW and 4 * depth + 8 <= n
        if some:
            own = best[: pick_best(own, best, best_row, depth)]
        sort_all(own, key, row, spare, spare_row, slot)
        kept = len(own)
        if some:
            kept = depth
            while kept < len(own) and key[kept] == key[kept - 1]:
                kept += 1
            for i in range(kept):
                row[i] = best_row[row[i]]
        out_kept[q] = kept
        for i in range(kept):
            out_labels[to + i] = labels[start + row[i]]
        out_tied[to] = False
        for i in range(1, kept):
            out_tied[to + i] = average and key[i] == key[i - 1]
        if len(weight) > 0:
            for i in range(kept):
                out_weight[to + i] = weight[start + row[i]]
        to += kept
