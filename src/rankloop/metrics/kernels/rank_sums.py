"""Metrics that are sums over ranks: what a document is worth times what its rank is worth."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel
from rankloop.lists.gain import Gain, gain_of
from rankloop.metrics.kernels.lists import Lists, Values, cutoff

__all__ = ["found_within", "rank_sums"]


def rank_sums(lists: Lists, ties: str, k: int | None, gain: Gain, sums: Values) -> Values:
    """Per list the sum of gain × rank weight to rank k; `sums[r]` is what ranks 1 to r weigh together.

    In a tie every document gets the mean of its ranks, which is its expected value.
    """
    ranked = lists.ranked(ties, k)
    limits = np.broadcast_to(np.int64(cutoff(k)), len(lists))
    return lists.fill(_rank_sums, *ranked[:5], np.ascontiguousarray(limits), gain.kind, gain.table, sums)


def found_within(lists: Lists, ties: str, relevance_threshold: float, limits: NDArray[np.int64]) -> Values:
    """Per list the expected number (or weight) of relevant documents among the first `limits[q]`."""
    deepest = int(limits.max(initial=1))
    longest = int(np.diff(lists.offsets).max(initial=0))
    ranked = lists.ranked(ties, max(1, deepest) if deepest < longest else None)
    gain = Gain.binary(relevance_threshold)
    return lists.fill(_rank_sums, *ranked[:5], limits, gain.kind, gain.table, np.arange(longest + 1.0))


@kernel
def _rank_sums(
    labels: NDArray[np.float32],
    weight: NDArray[np.float32],
    tied: NDArray[np.bool_],
    starts: NDArray[np.int64],
    kept: NDArray[np.int64],
    limits: NDArray[np.int64],
    kind: int,
    table: NDArray[np.float64],
    sums: NDArray[np.float64],
    values: NDArray[np.float64],
    first: int,
    last: int,
) -> None:
    for q in range(first, last):
        start = starts[q]
        end = start + kept[q]
        k = limits[q]
        total = 0.0
        i = start
        while i < end and i - start < k:
            worth = 0.0
            j = i
            while j == i or (j < end and tied[j]):
                gain = gain_of(labels[j], kind, table)
                worth += gain * weight[j] if len(weight) > 0 else gain
                j += 1
            if j > i + 1:
                worth /= j - i
            total += worth * (sums[j - start if j - start < k else k] - sums[i - start])
            i = j
        values[q] = total
