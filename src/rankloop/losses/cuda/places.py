"""LambdaRank under DCG on a device, first launch: the discount of each document, and what the best order brings.

A program takes a tile of rows, each of which counts the documents of its list above it: nothing is sorted.
"""

from __future__ import annotations

from rankloop.lists.tensors.discount_of import discount_of
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.spans import span_of

__all__ = ["gain_at", "place_kernel"]


@jit
def gain_at(labels, at, there, EXP: tl.constexpr):  # type: ignore[no-untyped-def]
    """The gains of labels: 2^label - 1, or the numbers as they are; -1 beyond the list."""
    y = tl.load(labels + at, mask=there, other=-1.0)
    return tl.where(there, tl.exp2(y) - 1.0, -1.0) if EXP else y


@jit
def place_kernel(  # type: ignore[no-untyped-def]
    scores, labels, offsets, discount, within, units, factors, n_lists, rows, each,
    EXP: tl.constexpr, IDEAL: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0)
    begin = tl.where(p < n_lists, p, n_lists + (p - n_lists) * each)
    for slot in range(begin, tl.where(p < n_lists, begin + 1, begin + each)):
        q, start, n, first = span_of(offsets, slot, n_lists, rows, BLOCK)
        if first < n:
            _places(scores, start, n, first, discount, within, BLOCK, WIDTH)
        if slot < n_lists:
            best, highest = _best(labels, start, n, EXP, BLOCK, WIDTH)
            if IDEAL:
                tl.store(units + q, tl.where(best > 0, 1.0 / tl.where(best > 0, best, 1.0), 0.0))
                tl.store(factors + q, 1.0)
            else:
                tl.store(units + q, tl.where(highest > 0, 1.0 / tl.where(highest > 0, highest, 1.0), 0.0))
                tl.store(factors + q, tl.maximum(highest, 0.0))


@jit
def _places(scores, start, n, first, discount, within, BLOCK: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """The discount of each row, a mean over its tie, and the mean difference of two places of that."""
    i = first + tl.arange(0, BLOCK)
    there = i < n
    own = tl.load(scores + start + i, mask=there, other=float("inf"))
    above = tl.zeros([BLOCK], tl.float32)
    for low in range(0, n, WIDTH):
        j = low + tl.arange(0, WIDTH)
        other = tl.load(scores + start + j, mask=j < n, other=float("-inf"))
        above += tl.sum(tl.where(other[:, None] > own[None, :], 1.0, 0.0), 0)
    # Each two documents of a list without ties have one above the other.
    pairs = n.to(tl.float32) * (n - 1).to(tl.float32) * 0.5
    mean = discount_of(above + 1.0)
    apart = above * 0.0
    if (n > BLOCK) | (tl.sum(above, 0) != pairs):
        size = tl.zeros([BLOCK], tl.float32)
        for low in range(0, n, WIDTH):
            j = low + tl.arange(0, WIDTH)
            other = tl.load(scores + start + j, mask=j < n, other=float("nan"))
            size += tl.sum(tl.where(other[:, None] == own[None, :], 1.0, 0.0), 0)
        tied = there & (size > 1.0)
        if tl.max(tied.to(tl.int32), 0) > 0:
            mean, apart = _tied(above, tl.where(there, size, 1.0), tied, mean)
    tl.store(discount + start + i, mean, mask=there)
    tl.store(within + start + i, apart, mask=there)


@jit
def _tied(above, size, tied, mean):  # type: ignore[no-untyped-def]
    """Means over the places of each tie: of the discounts, and of the differences of two."""
    begin = above[None, :]
    end = (above + size)[None, :]
    every = tl.zeros(above.shape, tl.float64)
    moment = tl.zeros(above.shape, tl.float64)
    lowest = tl.min(tl.where(tied, above, 1e9), 0).to(tl.int32)
    for low in range(lowest, tl.max(tl.where(tied, above + size, 0.0), 0).to(tl.int32), 4):
        place = (low + tl.arange(0, 4)).to(tl.float32)[:, None]
        brought = discount_of(place.to(tl.float64) + 1.0)
        inside = (place >= begin) & (place < end)
        every += tl.sum(tl.where(inside, brought, 0.0), 0)
        moment += tl.sum(tl.where(inside, brought * (place - begin), 0.0), 0)
    many = size.to(tl.float64)
    pairs = tl.where(tied, 0.5 * many * (many - 1.0), 1.0)
    apart = tl.where(tied, ((many - 1.0) * every - 2.0 * moment) / pairs, 0.0)
    return tl.where(tied, every / many, mean).to(tl.float32), apart.to(tl.float32)


@jit
def _best(labels, start, n, EXP: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """The DCG of the best order, and the highest gain: one grade after the other, if there are few."""
    near = tl.arange(0, BLOCK)
    first = gain_at(labels, start + near, near < n, EXP)
    brings = discount_of(near.to(tl.float32) + 1.0)
    total = tl.zeros([BLOCK], tl.float32)
    level = tl.full([], float("inf"), tl.float32)
    highest = tl.full([], 0.0, tl.float32)
    done = n * 0
    turns = n * 0
    while (done < n) & (turns < 12):
        below = tl.where(first < level, first, -1.0)
        for low in range(BLOCK, n, BLOCK):
            gain = gain_at(labels, start + low + near, low + near < n, EXP)
            below = tl.maximum(below, tl.where(gain < level, gain, -1.0))
        level = tl.max(below, 0)
        highest = tl.maximum(highest, level)
        equal = (first == level).to(tl.int32)
        for low in range(BLOCK, n, BLOCK):
            equal += (gain_at(labels, start + low + near, low + near < n, EXP) == level).to(tl.int32)
        after = done + tl.sum(equal, 0)
        total += tl.where((near >= done) & (near < after), level * brings, 0.0)
        for low in range(tl.maximum(done // BLOCK, 1) * BLOCK, after, BLOCK):
            place = low + near
            earned = level * discount_of(place.to(tl.float32) + 1.0)
            total += tl.where((place >= done) & (place < after), earned, 0.0)
        done = tl.where(level > 0.0, after, n)  # gains of 0 add nothing
        turns += 1
    if done < n:  # many grades: each document counts those above it
        total = tl.zeros([BLOCK], tl.float32)
        for low in range(0, n, BLOCK):
            i = low + near
            total += tl.where(i < n, _earned(labels, start, n, i, EXP, BLOCK, WIDTH), 0.0)
    return tl.sum(total, 0), highest


@jit
def _earned(labels, start, n, i, EXP: tl.constexpr, BLOCK: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """What each row brings in the best order: those of equal gain stand in their own order."""
    gain = gain_at(labels, start + i, i < n, EXP)
    better = tl.zeros([BLOCK], tl.float32)
    for low in range(0, n, WIDTH):
        j = low + tl.arange(0, WIDTH)
        other = gain_at(labels, start + j, j < n, EXP)[:, None]
        earlier = (other == gain[None, :]) & (j[:, None] < i[None, :])
        better += tl.sum(tl.where((other > gain[None, :]) | earlier, 1.0, 0.0), 0)
    return gain * discount_of(better + 1.0)
