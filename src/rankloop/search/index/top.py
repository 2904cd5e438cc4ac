"""The best documents of a segment, exactly: kernels over postings, one block of documents at a time."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints, Ints32
from rankloop._jit import inlined, kernel, part
from rankloop.search.index.best import shrink

__all__ = ["Postings", "place_of", "term_frequencies", "top_combined", "top_sum"]


COUNTED = 32  # numbers among which the place of one is counted, not searched
BLOCK = 16_384  # documents scored at once: their scores stay in the processor's cache
RUN = 256  # postings of one term whose scores are computed before they are added
SPARE = 1_024  # room for candidates beyond 2 k, so that the best k are rarely selected again
LEAST = 256  # room for candidates below which the best k are selected


class Room(NamedTuple):
    """Work space of a search: a block's scores, its documents with one, and candidates for the best."""

    block: Floats
    touched: Ints32
    best: Floats
    who: Ints


class Postings(NamedTuple):
    """Postings of several terms: that of term t is `docs[starts[t] : ends[t]]`, with its `tf` and field.

    `lengths` has one row per field of the segment and one column per document.
    """

    docs: Ints32
    tf: Ints32
    lengths: Ints32
    starts: Ints
    ends: Ints
    field: Ints


@part
def _room(k: int) -> Room:
    return Room(
        np.zeros(BLOCK),
        np.empty(BLOCK + 1, np.int32),
        np.empty(2 * k + SPARE),
        np.empty(2 * k + SPARE, np.int64),
    )


@inlined
def _collect(
    room: Room,
    count: int,
    first: int,
    allowed: Bytes,
    every: bool,
    floor: float,
    k: int,
    size: int,
    bar: float,
) -> tuple[int, float, int]:
    """Add the scored documents of a block to the best so far, and clear the block; counts allowed ones.

    Later documents must score more than `bar`, the k-th best of those before the block.
    """
    block, touched, best, who = room
    floor, matches, a = max(floor, bar), 0, 0
    while a < count:
        if len(best) - size < LEAST:
            bar, size = shrink(best, who, size, k), k
        b = min(count, a + len(best) - size)
        # Few stay: `size` moves on by the comparison itself, so that no branch is guessed wrong.
        for j in touched[a:b]:
            at = np.uint32(j)
            score, may = block[at], every or allowed[first + j] > 0
            block[at] = 0.0
            best[size], who[size] = score, first + j
            size += (score >= bar) & (score > floor) & may
            matches += may
        a = b
    return size, bar, matches


@part
def _cut(room: Room, size: int, k: int) -> tuple[Floats, Ints]:
    """The k best of the candidates."""
    if size > k:
        shrink(room.best, room.who, size, k)
        size = k
    return room.best[:size], room.who[:size]


@kernel
def top_sum(
    postings: Postings,
    weight: Floats,
    flat: Floats,
    slope: Floats,
    allowed: Bytes,
    every: bool,
    k: int,
    floor: float,
) -> tuple[Floats, Ints, int]:
    """The k best above a floor by the sum over postings of weight * tf / (tf + flat + slope * length).

    Only documents that have a term are visited; candidates for the best k are kept in a list that is cut
    back to k whenever it is full. `every` says that all documents are allowed, which then are not looked up.
    """
    docs, tf, lengths, starts, ends, field = postings
    room, gain = _room(k), np.empty(RUN)
    block, touched = room.block, room.touched
    size, matches, documents, bar = 0, 0, len(allowed), floor
    cursor = starts.copy()
    for first in range(0, documents, BLOCK):
        last = min(documents, first + BLOCK)
        # Term by term, add the score of every posting within the block; `touched` lists its documents.
        count = 0
        for t in range(len(cursor)):
            i, end = cursor[t], ends[t]
            w, c, s, length = weight[t], flat[t], slope[t], lengths[field[t]]
            while i < end and docs[i] < last:
                n = min(RUN, end - i)
                if docs[i + n - 1] >= last:
                    n = place_of(docs, i, i + n, np.int32(last)) - i
                some, often = docs[i : i + n], tf[i : i + n]
                # Nothing here waits for the number before: the processor divides several at once, and loads
                # the lengths of many documents while the first are on their way.
                for j in range(n):
                    gain[j] = w * often[j] / (often[j] + c + s * length[np.uint32(some[j])])
                for j in range(n):
                    at = np.uint32(some[j] - first)
                    before = block[at]
                    touched[count] = at
                    count += before == 0.0
                    block[at] = before + gain[j]
                i += n
            cursor[t] = i
        size, bar, found = _collect(room, count, first, allowed, every, floor, k, size, bar)
        matches += found
    return *_cut(room, size, k), matches


@kernel
def top_combined(
    postings: Postings,
    whole: Ints32,
    gain: Floats,
    flat: Floats,
    slope: Floats,
    group: Ints,
    idf: Floats,
    k1: float,
    whole_slope: float,
    allowed: Bytes,
    every: bool,
    k: int,
    floor: float,
) -> tuple[Floats, Ints, int]:
    """The k best above a floor by the sum over terms of idf * x / (x + k1 + whole_slope * whole length).

    x is the sum over the fields of gain * tf / (flat + slope * length); the postings of a term in all fields
    are adjacent.
    """
    docs, tf, lengths, starts, ends, field = postings
    room = _room(k)
    block, touched = room.block, room.touched
    size, matches, documents, bar = 0, 0, len(allowed), floor
    one, having = np.zeros(BLOCK), np.empty(BLOCK + 1, np.int32)
    cursor = starts.copy()
    for first in range(0, documents, BLOCK):
        last = min(documents, first + BLOCK)
        # Field by field, sum x of one term in `one`; after its last field, saturate it into `block`.
        count, with_term = 0, 0
        for t in range(len(cursor)):
            i, end = cursor[t], ends[t]
            while i < end and docs[i] < last:
                d = docs[i]
                before = one[d - first]
                having[with_term] = d - first
                with_term += before == 0.0
                one[d - first] = before + gain[t] * tf[i] / (flat[t] + slope[t] * lengths[field[t], d])
                i += 1
            cursor[t] = i
            if t + 1 == len(cursor) or group[t + 1] != group[t]:
                for j in having[:with_term]:
                    x = one[j]
                    one[j] = 0.0
                    touched[count] = j
                    count += block[j] == 0.0
                    block[j] += idf[group[t]] * x / (x + k1 + whole_slope * whole[first + j])
                with_term = 0
        size, bar, found = _collect(room, count, first, allowed, every, floor, k, size, bar)
        matches += found
    return *_cut(room, size, k), matches


@kernel
def term_frequencies(
    docs: Ints32, tf: Ints32, starts: Ints, ends: Ints, documents: Ints, order: Ints
) -> Ints32:
    """How often each term is in each document, from the postings of the terms: documents x terms.

    `documents` ascend; `order` says to which row of the result each belongs. Postings ascend too, and are
    passed through once, in steps that double until the next document lies within one. A search has just read
    them, whereas the documents' own lists of terms lie far apart in memory.
    """
    found = np.zeros((len(documents), len(starts)), np.int32)
    for t in range(len(starts)):
        at, end = starts[t], ends[t]
        for i in range(len(documents)):
            wanted, step = np.int32(documents[i]), COUNTED
            high = min(at + step, end)
            while high < end and docs[high - 1] < wanted:
                at, step = high, 2 * step
                high = min(at + step, end)
            at = place_of(docs, at, high, wanted)
            if at == end:
                break
            if docs[at] == wanted:
                found[order[i], t] = tf[at]
    return found


@inlined
def place_of(ascending: Ints32, low: int, high: int, wanted: np.int32) -> int:
    """Where a number is in `ascending[low:high]`, or would be.

    A binary search ends with counting among the last few: without branches to be guessed wrong, the processor
    already loads what comes next while this memory is on its way.
    """
    while high - low > COUNTED:
        middle = (low + high) // 2
        if ascending[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    below = 0
    for one in ascending[low:high]:
        below += one < wanted
    return low + below
