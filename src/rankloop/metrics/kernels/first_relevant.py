"""Where the first relevant document comes: hit and reciprocal rank."""

import numpy as np

from rankloop._jit import in_python, interpreted_by, kernel
from rankloop.lists import Ranked
from rankloop.lists.kernels.untied import Untied
from rankloop.metrics.kernels.lists import Values, cutoff
from rankloop.metrics.kernels.relevant import is_relevant
from rankloop.metrics.kernels.top_relevant import TopRelevant

__all__ = ["first_relevant"]


def first_relevant(top: TopRelevant, *, by_rank: bool) -> Values:
    """The chance that the first relevant document is among the first k; `by_rank`: the mean of 1 / rank."""
    threshold = np.float32(top.relevance_threshold)
    ranked = top.lists.ranked(top.ties, top.k)
    return top.blank(top.lists.fill(_first_relevant, ranked, cutoff(top.k), threshold, by_rank))


def _first_with_numpy(
    ranked: Ranked, k: int, threshold: np.float32, by_rank: bool, values: Values, first: int, last: int
) -> None:
    alone = Untied.of(ranked, k, first, last)
    relevant = ranked.labels[alone.place] >= threshold
    owner, rank = alone.owner[relevant], alone.rank[relevant]
    values[first:last] = 0.0
    found, at = np.unique(owner, return_index=True)
    values[found] = 1 / rank[at] if by_rank else 1.0
    for q in alone.others:
        in_python(_first_relevant)(ranked, k, threshold, by_rank, values, q, q + 1)


@interpreted_by(_first_with_numpy)
@kernel
def _first_relevant(
    ranked: Ranked, k: int, threshold: np.float32, by_rank: bool, values: Values, first: int, last: int
) -> None:
    labels, weight, tied = ranked.labels, ranked.weight, ranked.tied
    for q in range(first, last):
        start = ranked.start[q]
        end = start + ranked.kept[q]
        values[q] = 0.0
        i = start
        while i < end and i - start < k:
            relevant = 0
            mass = 0.0
            j = i
            while j == i or (j < end and tied[j]):
                w = weight[j] if len(weight) > 0 else np.float32(1)
                if is_relevant(labels[j], w, threshold):
                    relevant += 1
                    mass += float(w)
                j += 1
            if relevant > 0:
                none_yet = 1.0  # the chance that no relevant document came before this place
                place = i
                while none_yet > 0 and place - start < k:
                    here = relevant / (j - place)
                    values[q] += none_yet * here / (place - start + 1 if by_rank else 1)
                    none_yet *= 1 - here
                    place += 1
                values[q] *= mass / relevant
                break
            i = j
