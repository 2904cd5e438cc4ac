"""The best documents of a segment, exactly: kernels over postings, one block of documents at a time."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints, Ints32
from rankloop._jit import inlined, kernel, part

__all__ = ["Postings", "place_of", "shrink", "term_frequencies", "top_combined", "top_sum"]


COUNTED = 32  # numbers among which the place of one is counted, not searched
BLOCK = 16_384  # documents scored at once: their scores stay in the processor's cache
SPARE = 1_024  # room for candidates beyond 2 k, so that the best k are rarely selected again


class Room(NamedTuple):
    """Work space of a search: a block's scores, its documents with one, and those that reach the bar."""

    block: Floats
    touched: Ints32
    reaching: Ints32
    score: Floats


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


@kernel
def shrink(scores: Floats, docs: Ints, size: int, k: int) -> float:
    """Move the k best of the first `size` to the front, in no order, and give the lowest score among them.

    Of documents with equal scores the first stay.
    """
    last = np.partition(scores[:size], size - k)[size - k]
    above, equal = 0, 0
    for i in range(size):
        above += scores[i] > last
        equal += scores[i] == last
    highest = np.int64(2**62)
    if equal > k - above:
        same = docs[:size][scores[:size] == last]
        highest = np.partition(same, k - above - 1)[k - above - 1]
    kept = 0
    for i in range(size):
        if scores[i] > last or (scores[i] == last and docs[i] <= highest):
            scores[kept], docs[kept] = scores[i], docs[i]
            kept += 1
    return float(last)


@part
def _room(k: int) -> tuple[Floats, Ints, Room]:
    """Scores and documents of candidates, and work space."""
    best, who = np.empty(2 * k + SPARE), np.empty(2 * k + SPARE, np.int64)
    touched, reaching = np.empty(BLOCK + 1, np.int32), np.empty(BLOCK + 1, np.int32)
    return best, who, Room(np.zeros(BLOCK), touched, reaching, np.empty(BLOCK + 1))


@inlined
def _collect(
    room: Room,
    count: int,
    first: int,
    allowed: Bytes,
    every: bool,
    floor: float,
    k: int,
    best: Floats,
    who: Ints,
    size: int,
    bar: float,
) -> tuple[int, float, int]:
    """Add the scored documents of a block to the best so far, and clear the block; counts allowed ones."""
    block, touched, reaching, score = room
    # Few reach the bar: `some` moves on by the comparison itself, so that no branch is guessed wrong.
    some = 0
    for j in touched[:count]:
        reaching[some], score[some] = j, block[j]
        some += block[j] >= bar
        block[j] = 0.0
    matches = count
    if not every:
        matches = 0
        for j in touched[:count]:
            matches += allowed[first + j]
    for i in range(some):
        if score[i] >= bar and score[i] > floor and (every or allowed[first + reaching[i]]):
            best[size], who[size] = score[i], first + reaching[i]
            size += 1
            if size == len(best):
                bar, size = shrink(best, who, size, k), k
    return size, bar, matches


@part
def _cut(best: Floats, who: Ints, size: int, k: int) -> tuple[Floats, Ints]:
    """The k best of the candidates."""
    if size > k:
        shrink(best, who, size, k)
        size = k
    return best[:size], who[:size]


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
    best, who, room = _room(k)
    block, touched = room.block, room.touched
    size, matches, documents, bar = 0, 0, len(allowed), floor
    cursor = starts.copy()
    for first in range(0, documents, BLOCK):
        last = min(documents, first + BLOCK)
        # Term by term, add the score of every posting within the block; `touched` lists its documents.
        count = 0
        for t in range(len(cursor)):
            i, end = cursor[t], ends[t]
            w, c, s, f = weight[t], flat[t], slope[t], field[t]
            while i < end and docs[i] < last:
                d = docs[i]
                before = block[d - first]
                touched[count] = d - first
                count += before == 0.0
                block[d - first] = before + w * tf[i] / (tf[i] + c + s * lengths[f, d])
                i += 1
            cursor[t] = i
        size, bar, found = _collect(room, count, first, allowed, every, floor, k, best, who, size, bar)
        matches += found
    return *_cut(best, who, size, k), matches


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
    best, who, room = _room(k)
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
        size, bar, found = _collect(room, count, first, allowed, every, floor, k, best, who, size, bar)
        matches += found
    return *_cut(best, who, size, k), matches


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
