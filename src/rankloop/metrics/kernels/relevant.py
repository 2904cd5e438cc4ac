"""How many documents of each list are relevant."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints, Singles
from rankloop._jit import interpreted_by, kernel, over_lists, part

__all__ = ["Relevant", "count_relevant", "is_relevant"]


class Relevant(NamedTuple):
    """Per list: the number of relevant documents, and the sum of their weights (1 each without weights)."""

    number: Floats
    weight: Floats


def count_relevant(labels: Singles, weight: Singles, offsets: Ints, relevance_threshold: float) -> Relevant:
    made = Relevant(np.empty(len(offsets) - 1), np.empty(len(offsets) - 1))
    threshold = np.float32(relevance_threshold)
    over_lists(lambda first, last: _count(labels, weight, offsets, threshold, *made, first, last), offsets)
    return made


@part
def is_relevant(label: np.float32, weight: np.float32, relevance_threshold: np.float32) -> bool:
    """A document of weight 0 does not count as relevant."""
    return bool(label >= relevance_threshold and weight > 0)


def _count_with_numpy(
    labels: Singles,
    weight: Singles,
    offsets: Ints,
    relevance_threshold: np.float32,
    out_count: Floats,
    out_weight: Floats,
    first: int,
    last: int,
) -> None:
    begin, edges = offsets[first], offsets[first : last + 1]
    relevant = labels[begin : offsets[last]] >= relevance_threshold
    own = weight[begin : offsets[last]]
    if len(weight) > 0:
        relevant &= own > 0
    out_count[first:last] = np.diff(np.append(0, np.cumsum(relevant))[edges - begin])
    out_weight[first:last] = out_count[first:last]
    if len(weight) > 0:
        owner = np.repeat(np.arange(last - first), np.diff(edges))[relevant]
        out_weight[first:last] = np.bincount(owner, own[relevant], last - first)  # it adds in their order


@interpreted_by(_count_with_numpy)
@kernel
def _count(
    labels: Singles,
    weight: Singles,
    offsets: Ints,
    relevance_threshold: np.float32,
    out_count: Floats,
    out_weight: Floats,
    first: int,
    last: int,
) -> None:
    for q in range(first, last):
        own = labels[offsets[q] : offsets[q + 1]]
        count = 0
        for i in range(len(own)):
            count += own[i] >= relevance_threshold
        mass = float(count)
        if len(weight) > 0:
            count = 0
            mass = 0.0
            for i in range(len(own)):
                w = weight[offsets[q] + i]
                if is_relevant(own[i], w, relevance_threshold):
                    count += 1
                    mass += float(w)
        out_count[q] = count
        out_weight[q] = mass
