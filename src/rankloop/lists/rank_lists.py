"""Lists by falling score, in the form that every metric reads."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel, over_lists
from rankloop.lists.kernels.best import FEW, pick_best
from rankloop.lists.kernels.merge import as_places

__all__ = ["Ranked", "rank_lists"]

Singles = NDArray[np.float32]

SKEWED = -1  # kept of a list whose scores cannot be spread


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
    start, size = offsets[:-1], np.diff(offsets)
    if ranked.depth <= FEW < longest:
        scores, labels, weight, start, size = pick_best(scores, labels, weight, offsets, ranked.depth)

    def work(first: int, last: int) -> None:
        key, row = np.empty(longest), np.empty(longest, np.int32)
        bucket, slot = np.empty(longest, np.int32), np.empty(2 * longest + 1, np.int32)
        _rank(
            scores, labels, weight, start, size, ranked.depth, average, key, row, bucket, slot,
            ranked.labels, ranked.weight, ranked.tied, ranked.start, ranked.kept,
            int(offsets[first]), first, last,
        )  # fmt: skip

    over_lists(work, offsets)
    skewed = ranked.kept == SKEWED
    if skewed.any():
        scores = as_places(scores, start, size, skewed)
        over_lists(work, offsets)
    return ranked


@kernel
def _rank(
    scores: NDArray[np.float64],
    labels: Singles,
    weight: Singles,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    depth: int,
    average: bool,
    key: NDArray[np.float64],
    row: NDArray[np.int32],
    bucket: NDArray[np.int32],
    slot: NDArray[np.int32],
    out_labels: Singles,
    out_weight: Singles,
    out_tied: NDArray[np.bool_],
    out_start: NDArray[np.int64],
    out_kept: NDArray[np.int64],
    to: int,
    first: int,
    last: int,
) -> None:
    """Scores are spread over twice as many buckets as there are documents, by value, which leaves them
    almost sorted; insertion finishes the work, and gives up where the values are too skewed for that.
    What is kept is written without gaps from `to` on, so that metrics read it fast.
    """
    for q in range(first, last):
        start = starts[q]
        n = sizes[q]
        out_start[q] = to
        out_kept[q] = 0
        if n == 0:
            continue
        own = scores[start : start + n]
        high = low = own[0]
        other_high = other_low = own[n - 1]
        for i in range(0, n - 1, 2):  # two at a time, as one chain of comparisons would wait
            high = max(high, own[i])
            low = min(low, own[i])
            other_high = max(other_high, own[i + 1])
            other_low = min(other_low, own[i + 1])
        high = max(high, other_high)
        low = min(low, other_low)
        scale = (2 * n - 1) / (high - low)
        spread = 0 < scale < np.inf  # else all alike, or too far apart: one bucket
        for i in range(2 * n + 1):
            slot[i] = 0
        for i in range(n):
            bucket[i] = np.int32((high - own[i]) * scale) if spread else 0
        for i in range(n):
            slot[bucket[i] + 1] += 1
        for i in range(2 * n):
            slot[i + 1] += slot[i]
        for i in range(n):
            at = slot[bucket[i]]
            slot[bucket[i]] = at + 1
            key[at] = own[i]
            row[at] = i
        moves = 4 * n
        for i in range(1, n):
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
                    break
        if moves < 0:
            out_kept[q] = SKEWED
            continue
        kept = n if n < depth else depth
        while kept < n and key[kept] == key[kept - 1]:
            kept += 1
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
