"""The best documents of every list, in order, with their ties: what metrics read."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bools, Floats, Ints, Singles
from rankloop._jit import interpreted_by, kernel, over_lists
from rankloop.lists.kernels.best import FEW, GROUPS, pick_best
from rankloop.lists.kernels.sort import scratch, sort_list

__all__ = ["Ranked", "rank_tops", "top_lists"]


_EVERY = int(np.iinfo(np.int64).max)


class Ranked(NamedTuple):
    """The best documents of each list in order: list q holds places `start[q]` to `start[q] + kept[q]`.

    `tied` marks documents that tie with the one before. A tie is never cut: where it straddles the depth,
    all of it is here. `weight` is empty when there are no item weights.
    """

    labels: Singles
    weight: Singles
    tied: Bools
    start: Ints
    kept: Ints
    depth: int

    def reaches(self, depth: int | None) -> bool:
        return self.depth >= (_EVERY if depth is None else depth)


def top_lists(
    scores: Floats,
    labels: Singles,
    weight: Singles,
    offsets: Ints,
    depth: int | None = None,
    *,
    average: bool = True,
) -> Ranked:
    """Rank every list, to a depth or completely; ties keep their order, and are marked if `average`.

    The order is that of `rank_lists`; labels and weights are gathered in the same pass, and a list that is
    much longer than the depth is not sorted as a whole.

    >>> scores, labels = np.array([0.2, 0.9, 0.5]), np.array([0, 1, 2], np.float32)
    >>> top_lists(scores, labels, np.zeros(0, np.float32), np.array([0, 3]), 2).labels[:2]
    array([1., 2.], dtype=float32)
    """
    ranked = Ranked(
        labels=np.empty(len(labels), np.float32),
        weight=np.empty(len(weight), np.float32),
        tied=np.empty(len(labels), np.bool_),
        start=np.empty(len(offsets) - 1, np.int64),
        kept=np.empty(len(offsets) - 1, np.int64),
        depth=_EVERY if depth is None else depth,
    )
    longest = int(np.diff(offsets).max(initial=0))

    def work(first: int, last: int) -> None:
        rank_tops(
            scores, labels, weight, offsets, ranked.depth, average, longest,
            ranked.labels, ranked.weight, ranked.tied, ranked.start, ranked.kept,
            int(offsets[first]), first, last,
        )  # fmt: skip

    over_lists(work, offsets)
    return ranked


def _rank_with_numpy(
    scores: Floats,
    labels: Singles,
    weight: Singles,
    offsets: Ints,
    depth: int,
    average: bool,
    longest: int,
    out_labels: Singles,
    out_weight: Singles,
    out_tied: Bools,
    out_start: Ints,
    out_kept: Ints,
    to: int,
    first: int,
    last: int,
) -> None:
    begin, end = int(offsets[first]), int(offsets[last])
    sizes, starts = np.diff(offsets[first : last + 1]), offsets[first:last] - begin
    key, row = scores[begin:end], np.arange(begin, end)
    heads = np.zeros(end - begin + 1, np.bool_)
    heads[starts] = heads[-1] = True
    if np.any((key[1:] > key[:-1]) & ~heads[1:-1]):
        row = begin + np.lexsort((-key, np.repeat(np.arange(last - first), sizes)))
        key = scores[row]
    tied = np.append(False, (key[1:] == key[:-1]) & ~heads[1:-1])[: len(key)]
    # To the depth, and to the next document that does not tie with the one before.
    ends = np.append(np.flatnonzero(~tied), len(key))
    deep = starts + np.minimum(sizes, depth)
    kept = np.where(sizes > 0, ends[np.minimum(np.searchsorted(ends, deep), len(ends) - 1)] - starts, 0)
    out_kept[first:last] = kept
    out_start[first:last] = to + np.cumsum(kept) - kept
    some = np.repeat(starts - (out_start[first:last] - to), kept) + np.arange(kept.sum())
    upto = to + len(some)
    out_labels[to:upto] = labels[row[some]]
    out_tied[to:upto] = average & tied[some]
    if len(weight) > 0:
        out_weight[to:upto] = weight[row[some]]


@interpreted_by(_rank_with_numpy)
@kernel
def rank_tops(
    scores: Floats,
    labels: Singles,
    weight: Singles,
    offsets: Ints,
    depth: int,
    average: bool,
    longest: int,
    out_labels: Singles,
    out_weight: Singles,
    out_tied: Bools,
    out_start: Ints,
    out_kept: Ints,
    to: int,
    first: int,
    last: int,
) -> None:
    """What is kept is written without gaps from `to` on, so that metrics read it fast."""
    row, key, spare, bucket, slot = scratch(longest)
    best, picked, short = np.empty(GROUPS), np.empty(longest + 1, np.int32), np.empty(longest)
    for q in range(first, last):
        start = offsets[q]
        own = scores[start : offsets[q + 1]]
        out_start[q] = to
        out_kept[q] = 0
        if len(own) == 0:
            continue
        # Of a list much longer than the depth, only the best few are sorted.
        some = depth <= FEW and len(own) >= 4 * depth + 12
        if some:
            found = pick_best(own, depth, best, picked)
            for i in range(found):
                short[i] = own[picked[i]]
            own = short[:found]
        n = len(own)
        sort_list(own, row, key, spare, bucket, slot)
        # To the depth, and through the tie that straddles it: the mean over its orders needs all of it.
        kept = n if n < depth else depth
        while kept < n and key[kept] == key[kept - 1]:
            kept += 1
        out_kept[q] = kept
        # Gather what metrics read of the documents that are kept.
        for i in range(kept):
            if some:
                row[i] = picked[row[i]]
            out_labels[to + i] = labels[start + row[i]]
            out_tied[to + i] = average and i > 0 and key[i] == key[i - 1]
        if len(weight) > 0:
            for i in range(kept):
                out_weight[to + i] = weight[start + row[i]]
        to += kept
