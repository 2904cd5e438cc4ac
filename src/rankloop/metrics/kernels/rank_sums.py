"""Metrics that are sums over ranks, from the rankings that metrics share."""

import numpy as np

from rankloop._arrays import Ints
from rankloop.lists import Gain
from rankloop.lists.kernels.rank_sums import rank_sums as sums_of
from rankloop.metrics.kernels.lists import MetricLists, Values, cutoff

__all__ = ["found_within", "rank_sums"]


def rank_sums(lists: MetricLists, ties: str, k: int | None, gain: Gain, sums: Values) -> Values:
    """Per list the sum of gain × rank weight to rank k; `sums[r]` is the total weight of ranks 1 to r."""
    limits = np.full(lists.n_lists, cutoff(k))
    return sums_of(lists.ranked(ties, k), lists.offsets, limits, gain, sums)


def found_within(lists: MetricLists, ties: str, relevance_threshold: float, limits: Ints) -> Values:
    """Per list the expected number (or weight) of relevant documents among the first `limits[q]`."""
    deepest, longest = int(limits.max(initial=1)), lists.longest
    ranked = lists.ranked(ties, max(1, deepest) if deepest < longest else None)
    return sums_of(ranked, lists.offsets, limits, Gain.binary(relevance_threshold), np.arange(longest + 1.0))
