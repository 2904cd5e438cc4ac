"""The best documents of a segment: kernels over postings, block by block, exact."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel

__all__ = ["term_frequencies", "top_combined", "top_sum"]

BLOCK = 32_768  # documents scored at once: their scores stay in the cache


@kernel
def _push(scores: NDArray[np.float64], docs: NDArray[np.int64], size: int, score: float, doc: int) -> int:
    """Keep a document among the best: a heap with the worst on top; of equals the first stays."""
    if size == len(scores):
        if size == 0 or score <= scores[0]:
            return size
        at = 0
        while True:
            child = 2 * at + 1
            if child >= size:
                break
            if child + 1 < size and (
                scores[child + 1] < scores[child]
                or (scores[child + 1] == scores[child] and docs[child + 1] > docs[child])
            ):
                child += 1
            if scores[child] > score or (scores[child] == score and docs[child] < doc):
                break
            scores[at] = scores[child]
            docs[at] = docs[child]
            at = child
        scores[at] = score
        docs[at] = doc
        return size
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if scores[parent] < score or (scores[parent] == score and docs[parent] > doc):
            break
        scores[at] = scores[parent]
        docs[at] = docs[parent]
        at = parent
    scores[at] = score
    docs[at] = doc
    return size + 1


@kernel
def top_sum(
    docs: NDArray[np.int32],
    tf: NDArray[np.int32],
    lengths: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    field: NDArray[np.int64],
    weight: NDArray[np.float64],
    flat: NDArray[np.float64],
    slope: NDArray[np.float64],
    allowed: NDArray[np.uint8],
    k: int,
    floor: float,
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """The k best above a floor by the sum over postings of weight * tf / (tf + flat + slope * length)."""
    best, who = np.empty(k), np.empty(k, np.int64)
    size, matches, documents = 0, 0, len(allowed)
    block = np.zeros(BLOCK)
    cursor = starts.copy()
    for first in range(0, documents, BLOCK):
        last = min(documents, first + BLOCK)
        for t in range(len(cursor)):
            i, end = cursor[t], ends[t]
            w, c, s, f = weight[t], flat[t], slope[t], field[t]
            while i < end and docs[i] < last:
                d = docs[i]
                block[d - first] += w * tf[i] / (tf[i] + c + s * lengths[f, d])
                i += 1
            cursor[t] = i
        for j in range(last - first):
            if block[j] > 0.0:
                if allowed[first + j]:
                    matches += 1
                    if block[j] > floor:
                        size = _push(best, who, size, block[j], first + j)
                block[j] = 0.0
    return best[:size], who[:size], matches


@kernel
def top_combined(
    docs: NDArray[np.int32],
    tf: NDArray[np.int32],
    lengths: NDArray[np.int32],
    whole: NDArray[np.int32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    field: NDArray[np.int64],
    gain: NDArray[np.float64],
    flat: NDArray[np.float64],
    slope: NDArray[np.float64],
    group: NDArray[np.int64],
    idf: NDArray[np.float64],
    k1: float,
    whole_slope: float,
    allowed: NDArray[np.uint8],
    k: int,
    floor: float,
) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
    """The k best above a floor by the sum over terms of idf * x / (x + k1 + whole_slope * whole length).

    x is the sum over the fields of gain * tf / (flat + slope * length); postings of a term follow each other.
    """
    best, who = np.empty(k), np.empty(k, np.int64)
    size, matches, documents = 0, 0, len(allowed)
    block, one = np.zeros(BLOCK), np.zeros(BLOCK)
    cursor = starts.copy()
    for first in range(0, documents, BLOCK):
        last = min(documents, first + BLOCK)
        for t in range(len(cursor)):
            i, end = cursor[t], ends[t]
            while i < end and docs[i] < last:
                d = docs[i]
                one[d - first] += gain[t] * tf[i] / (flat[t] + slope[t] * lengths[field[t], d])
                i += 1
            cursor[t] = i
            if t + 1 == len(cursor) or group[t + 1] != group[t]:
                for j in range(last - first):
                    if one[j] > 0.0:
                        block[j] += idf[group[t]] * one[j] / (one[j] + k1 + whole_slope * whole[first + j])
                        one[j] = 0.0
        for j in range(last - first):
            if block[j] > 0.0:
                if allowed[first + j]:
                    matches += 1
                    if block[j] > floor:
                        size = _push(best, who, size, block[j], first + j)
                block[j] = 0.0
    return best[:size], who[:size], matches


@kernel
def term_frequencies(
    offsets: NDArray[np.int64],
    terms: NDArray[np.int32],
    tf: NDArray[np.int32],
    documents: int,
    rows: NDArray[np.int64],
    field: NDArray[np.int64],
    term: NDArray[np.int64],
) -> NDArray[np.int32]:
    """How often each (field, term) is in each document: documents x pairs, from the forward index."""
    found = np.zeros((len(rows), len(field)), np.int32)
    for i in range(len(rows)):
        for j in range(len(field)):
            if term[j] < 0:
                continue
            row = field[j] * documents + rows[i]
            low, high = offsets[row], offsets[row + 1]
            end = high
            while low < high:
                middle = (low + high) // 2
                if terms[middle] < term[j]:
                    low = middle + 1
                else:
                    high = middle
            if low < end and terms[low] == term[j]:
                found[i, j] = tf[low]
    return found
