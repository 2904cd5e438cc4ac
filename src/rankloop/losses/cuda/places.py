"""LambdaRank under DCG on a device, first launch: discounts of documents, and what the best order brings.

A program takes a tile of rows, each of which counts the documents of its list above it: nothing is sorted.
"""

from __future__ import annotations

from rankloop.lists.tensors.discount_of import discount_of
from rankloop.lists.tensors.jit import jit, tl
from rankloop.losses.cuda.checks import sound_list, sound_rows
from rankloop.losses.cuda.spans import span_of

__all__ = ["gain_at", "place_kernel"]


@jit
def gain_at(labels, at, there, EXP: tl.constexpr):  # type: ignore[no-untyped-def]
    """The gains of labels: 2^label - 1, or the numbers as they are; -1 beyond the list."""
    y = tl.load(labels + at, mask=there, other=-1.0)
    return tl.where(there, tl.exp2(y) - 1.0, -1.0) if EXP else y


@jit
def place_kernel(  # type: ignore[no-untyped-def]
    scores, labels, weights, by_list, offsets, discount, within, units, factors, good, n_lists, rows, each,
    lowest, highest, EXP: tl.constexpr, IDEAL: tl.constexpr, CHECKED: tl.constexpr, WEIGHTED: tl.constexpr,
    LISTED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    BLOCK: tl.constexpr = 32 * ROWS
    p = tl.program_id(0)
    begin = tl.where(p < n_lists, p, n_lists + (p - n_lists) * each)
    for slot in range(begin, tl.where(p < n_lists, begin + 1, begin + each)):
        q, start, n, first = span_of(offsets, slot, n_lists, rows, BLOCK)
        if CHECKED:
            i = first + tl.arange(0, BLOCK)
            s = tl.load(scores + start + i, mask=i < n, other=0.0)
            y = tl.load(labels + start + i, mask=i < n, other=0.0)
            right = sound_rows(s, y, weights, start + i, i < n, lowest, highest, WEIGHTED)
            _, _, sound = sound_list(offsets, by_list, q, n_lists, rows, LISTED)
            if tl.max((~right).to(tl.int32), 0) + (1 - sound.to(tl.int32)) > 0:
                tl.store(good, 0)
        if first < n:
            _places(scores, start, n, first, discount, within, ROWS)
        if slot < n_lists:
            best, top = _best(labels, start, n, EXP, 128)
            if IDEAL:
                tl.store(units + q, tl.where(best > 0, 1.0 / tl.where(best > 0, best, 1.0), 0.0))
                tl.store(factors + q, 1.0)
            else:
                tl.store(units + q, tl.where(top > 0, 1.0 / tl.where(top > 0, top, 1.0), 0.0))
                tl.store(factors + q, tl.maximum(top, 0.0))


@jit
def _places(scores, start, n, first, discount, within, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
    """The discount of each row, a mean over its tie, and the mean difference of two places of that."""
    lane = tl.arange(0, 32)[None, :]
    i = first + 32 * tl.arange(0, ROWS)[:, None] + lane
    there = i < n
    own = tl.load(scores + start + i, mask=there, other=float("inf"))
    if n > 32 * ROWS:
        above, size = _counted(scores, start, n, own, ROWS, True)
    else:
        above, size = _counted(scores, start, n, own, ROWS, False)
        # Each two documents of a list without ties have one above the other.
        if tl.sum(tl.sum(above, 1), 0) != n.to(tl.float32) * (n - 1).to(tl.float32) * 0.5:
            _, size = _counted(scores, start, n, own, ROWS, True)
    mean = discount_of(above + 1.0)
    apart = above * 0.0
    tied = there & (size > 1.0)
    if tl.max(tl.max(tied.to(tl.int32), 1), 0) > 0:
        mean, apart = _tied(above, tl.where(there, size, 1.0), tied, mean)
    tl.store(discount + start + i, mean, mask=there)
    tl.store(within + start + i, apart, mask=there)


@jit
def _counted(scores, start, n, own, ROWS: tl.constexpr, TIES: tl.constexpr):  # type: ignore[no-untyped-def]
    """How many documents of its list stand above each row, and beside it: they move from lane to lane."""
    lane = tl.arange(0, 32)[None, :]
    turn = tl.broadcast_to((lane + 1) % 32, [4, 32])
    above = tl.zeros([ROWS, 32], tl.float32)
    size = tl.zeros([ROWS, 32], tl.float32)
    for low in range(0, n, 128):
        j = low + 32 * tl.arange(0, 4)[:, None] + lane
        other = tl.load(scores + start + j, mask=j < n, other=float("-inf"))
        for _ in range(32):
            above += tl.sum(tl.where(other[None, :, :] > own[:, None, :], 1.0, 0.0), 1)
            if TIES:
                size += tl.sum(tl.where(other[None, :, :] == own[:, None, :], 1.0, 0.0), 1)
            other = tl.gather(other, turn, 1)
    return above, size


@jit
def _tied(above, size, tied, mean):  # type: ignore[no-untyped-def]
    """Means over the places of each tie: of the discounts, and of the differences of two."""
    every = tl.zeros(above.shape, tl.float64)
    moment = tl.zeros(above.shape, tl.float64)
    lowest = tl.min(tl.min(tl.where(tied, above, 1e9), 1), 0).to(tl.int32)
    highest = tl.max(tl.max(tl.where(tied, above + size, 0.0), 1), 0).to(tl.int32)
    lane = tl.arange(0, 32)[None, :]
    turn = (lane + 1) % 32
    for low in range(lowest, highest, 32):
        place = (low + lane).to(tl.float32)
        brought = discount_of((low + lane).to(tl.float64) + 1.0)
        weighted = brought * (low + lane).to(tl.float64)
        for _ in range(32):
            inside = (place >= above) & (place < above + size)
            every += tl.where(inside, brought, 0.0)
            moment += tl.where(inside, weighted, 0.0)
            place = tl.gather(place, turn, 1)
            brought = tl.gather(brought, turn, 1)
            weighted = tl.gather(weighted, turn, 1)
    moment -= above.to(tl.float64) * every
    many = size.to(tl.float64)
    pairs = tl.where(tied, 0.5 * many * (many - 1.0), 1.0)
    apart = tl.where(tied, ((many - 1.0) * every - 2.0 * moment) / pairs, 0.0)
    return tl.where(tied, every / many, mean).to(tl.float32), apart.to(tl.float32)


@jit
def _best(labels, start, n, EXP: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
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
            total += tl.where(i < n, _earned(labels, start, n, i, EXP, BLOCK), 0.0)
    return tl.sum(total, 0), highest


@jit
def _earned(labels, start, n, i, EXP: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """What each row brings in the best order: those of equal gain stand in their own order."""
    gain = gain_at(labels, start + i, i < n, EXP)
    better = tl.zeros([BLOCK], tl.float32)
    for low in range(0, n, 8):
        j = low + tl.arange(0, 8)
        other = gain_at(labels, start + j, j < n, EXP)[:, None]
        earlier = (other == gain[None, :]) & (j[:, None] < i[None, :])
        better += tl.sum(tl.where((other > gain[None, :]) | earlier, 1.0, 0.0), 0)
    return gain * discount_of(better + 1.0)
