"""Lists by falling score, in the form that every metric reads."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, over_lists
from rankloop.metrics._sort import sort_all, sort_best

__all__ = ["Ranked", "rank_lists"]

Singles = NDArray[np.float32]


class Ranked(NamedTuple):
    """The best documents of each list in order: list q holds places `offsets[q]` to `offsets[q] + kept[q]`.

    `tied` marks documents that tie with the one before. A tie is never cut: where it straddles the
    depth, all of it is here. `weight` is empty when there are no item weights.
    """

    labels: Singles
    weight: Singles
    tied: NDArray[np.bool_]
    offsets: NDArray[np.int64]
    kept: NDArray[np.int64]
    depth: int

    def reaches(self, depth: int | None) -> bool:
        return self.depth >= (np.iinfo(np.int64).max if depth is None else depth)


def rank_lists(
    scores: NDArray[np.float64],
    labels: Singles,
    weight: Singles,
    offsets: NDArray[np.int64],
    ties: str,
    depth: int | None,
) -> Ranked:
    """Rank every list, to a depth or completely."""
    ranked = Ranked(
        labels=np.empty(len(labels), np.float32),
        weight=np.empty(len(weight), np.float32),
        tied=np.empty(len(labels), np.bool_),
        offsets=offsets,
        kept=np.empty(len(offsets) - 1, np.int64),
        depth=int(np.iinfo(np.int64).max) if depth is None else depth,
    )
    longest = int(np.diff(offsets).max(initial=0))

    def work(first: int, last: int) -> None:
        _rank_lists(
            scores, labels, weight, offsets, ranked.depth, ties == "average", ties == "worst", longest,
            ranked.labels, ranked.weight, ranked.tied, ranked.kept, first, last,
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
    worst: bool,
    longest: int,
    out_labels: Singles,
    out_weight: Singles,
    out_tied: NDArray[np.bool_],
    out_count: NDArray[np.int64],
    first: int,
    last: int,
) -> None:
    key = np.empty(longest, np.float64)
    row = np.empty(longest, np.int32)
    spare = np.empty(2 * longest, np.float64)
    spare_row = np.empty(2 * longest, np.int32)
    slot = np.empty(longest + 1, np.int32)
    for q in range(first, last):
        start = offsets[q]
        n = offsets[q + 1] - start
        if n == 0:
            out_count[q] = 0
            continue
        if depth < n // 4:
            kept = sort_best(scores[start : start + n], key, row, spare, spare_row, slot, depth)
        else:
            sort_all(scores[start : start + n], key, row, spare, spare_row, slot)
            kept = n
        if worst:
            _lowest_first(key, row, kept, labels[start : start + n], weight[start:], spare, spare_row, slot)
        out_count[q] = kept
        out_tied[start] = False
        for i in range(kept):
            out_labels[start + i] = labels[start + row[i]]
        for i in range(1, kept):
            out_tied[start + i] = average and key[i] == key[i - 1]
        if len(weight) > 0:
            for i in range(kept):
                out_weight[start + i] = weight[start + row[i]]


@kernel
def _lowest_first(
    key: NDArray[np.float64],
    row: NDArray[np.int32],
    kept: int,
    labels: Singles,
    weight: Singles,
    spare: NDArray[np.float64],
    spare_row: NDArray[np.int32],
    slot: NDArray[np.int32],
) -> None:
    """Within each tie the lowest label first, and the lightest of equal labels: the worst of all orders."""
    first = 0
    while first < kept:
        last = first + 1
        while last < kept and key[last] == key[first]:
            last += 1
        if last > first + 1:
            m = last - first
            lowest = np.empty(m, np.float64)
            keys = np.empty(m, np.float64)
            order = np.empty(m, np.int32)
            for by_label in (False, True):
                for i in range(m):
                    at = row[first + i]
                    lowest[i] = -labels[at] if by_label or len(weight) == 0 else -weight[at]
                sort_all(lowest, keys, order, spare, spare_row, slot)
                for i in range(m):
                    slot[i] = row[first + order[i]]
                for i in range(m):
                    row[first + i] = slot[i]
        first = last
