"""The arithmetic of text features: all candidates at once, one field at a time."""

import math

import numpy as np

from rankloop._arrays import Floats, Ints, Ints32
from rankloop._jit import kernel
from rankloop.search.index.postings import Forward
from rankloop.search.index.top import place_of

__all__ = ["LOGARITHMIC", "NEAR", "PROXIMITY", "STATISTICS", "norms", "proximity", "statistics"]


STATISTICS = (
    "covered", "covered_ratio", "covered_idf", "length", "boolean", "cosine", "bm25",
    "lm_absolute", "lm_dirichlet", "lm_jelinek",
    "tf_sum", "tf_min", "tf_max", "tf_mean", "tf_variance",
    "tf_length_sum", "tf_length_min", "tf_length_max", "tf_length_mean", "tf_length_variance",
    "tfidf_sum", "tfidf_min", "tfidf_max", "tfidf_mean", "tfidf_variance",
)  # fmt: skip
LOGARITHMIC = ("cosine", "lm_absolute", "lm_dirichlet", "lm_jelinek")
PROXIMITY = ("window", "ordered", "unordered", "phrase", "first")

K1, B = 1.2, 0.75
DISCOUNT = 0.7  # taken off each tf by absolute discounting
COLLECTION = 0.1  # weight of the collection in Jelinek-Mercer smoothing
AHEAD, FAR, LINE = 16, 96, 16  # rows and entries whose memory is asked for at once; entries of a cache line
NEAR = 8  # the distance in words up to which two words are near


@kernel
def statistics(
    tf: Ints32,
    length: Ints,
    unique: Ints,
    norm: Floats,
    times: Floats,
    idf: Floats,
    probability: Floats,
    average: float,
    logs: bool,
    out: Floats,
) -> None:
    """`STATISTICS` of each document from the tf of each query term: one row of `out` per document.

    `times` is how often the query has a term, `probability` the share of the collection's words that are it.
    The Dirichlet prior counts as many words as the field has on average. One pass over the tf of a document
    fills all 25 statistics from registers; only variances need a second one. Logarithms are most of the work:
    without `logs`, the statistics in `LOGARITHMIC` are 0.
    """
    # What depends on the query alone.
    documents, terms = tf.shape
    query_norm, rarity = 0.0, 0.0
    for t in range(terms):
        query_norm += (times[t] * idf[t]) ** 2
        rarity += idf[t]
    query_norm = math.sqrt(query_norm)
    prior = max(average, 1.0)
    flat, slope = K1 * (1 - B), K1 * B / max(average, 1e-9)
    for i in range(documents):
        size = float(length[i])
        row = out[i]
        row[:] = 0.0
        row[3] = size
        if terms == 0:
            continue
        spread = DISCOUNT * unique[i] / size if size > 0 else 1.0
        low, high, total = tf[i, 0], tf[i, 0], 0
        idf_low = tf[i, 0] * idf[0]
        idf_high, idf_total, covered, covered_idf, dot = idf_low, 0.0, 0, 0.0, 0.0
        bm25, absolute, dirichlet, jelinek = 0.0, 0.0, 0.0, 0.0
        # One pass over the query terms: sums, extremes, cosine, BM25 and the three language models.
        for t in range(terms):
            f, w = tf[i, t], times[t]
            weighted = f * idf[t]
            total += f
            idf_total += weighted
            low, high = min(low, f), max(high, f)
            idf_low, idf_high = min(idf_low, weighted), max(idf_high, weighted)
            p = probability[t]
            if f > 0:
                covered += 1
                covered_idf += idf[t]
                bm25 += w * idf[t] * f / (f + flat + slope * size)
            if not logs:
                continue
            if f > 0:
                dot += (1.0 + math.log(f)) * w * idf[t]
                absolute += w * math.log((f - DISCOUNT) / size + spread * p)
                jelinek += w * math.log((1 - COLLECTION) * f / size + COLLECTION * p)
            else:
                absolute += w * math.log(spread * p)
                jelinek += w * math.log(COLLECTION * p if size > 0 else p)
            dirichlet += w * math.log((f + prior * p) / (size + prior))
        # Variances, from deviations: the difference of two sums would lose digits.
        mean, idf_mean = total / terms, idf_total / terms
        variance, idf_variance = 0.0, 0.0
        for t in range(terms):
            variance += (tf[i, t] - mean) ** 2
            idf_variance += (tf[i, t] * idf[t] - idf_mean) ** 2
        variance, idf_variance = variance / terms, idf_variance / terms
        # The row in the order of STATISTICS; `length` is already there.
        per = 1.0 / size if size > 0 else 0.0
        row[0], row[1] = covered, covered / terms
        row[2] = covered_idf / rarity if rarity > 0 else 0.0
        row[4] = 1.0 if covered == terms else 0.0
        row[5] = dot / (norm[i] * query_norm) if norm[i] > 0 and query_norm > 0 else 0.0
        row[6], row[7], row[8], row[9] = bm25, absolute, dirichlet, jelinek
        row[10], row[11], row[12], row[13], row[14] = total, low, high, mean, variance
        row[15], row[16], row[17], row[18] = total * per, low * per, high * per, mean * per
        row[19] = variance * per * per
        row[20], row[21], row[22], row[23], row[24] = idf_total, idf_low, idf_high, idf_mean, idf_variance


@kernel
def norms(forward: Forward, documents: int, fields: Ints, rows: Ints, norm: Floats, unique: Ints) -> None:
    """Fill in, where `norm` is negative, the norm of the vector of 1 + log tf and its number of terms.

    A document is its `fields` together: their rows, sorted by term, are merged.
    """
    offsets, terms, tf = forward.offsets, forward.terms, forward.tf
    cursor = np.empty(len(fields), np.int64)
    end = np.empty(len(fields), np.int64)
    for document in rows:
        if norm[document] >= 0.0:
            continue
        for f in range(len(fields)):
            cursor[f] = offsets[fields[f] * documents + document]
            end[f] = offsets[fields[f] * documents + document + 1]
        square, count = 0.0, 0
        while True:
            term = np.int64(-1)
            for f in range(len(fields)):
                if cursor[f] < end[f] and (term < 0 or terms[cursor[f]] < term):
                    term = np.int64(terms[cursor[f]])
            if term < 0:
                break
            here = 0
            for f in range(len(fields)):
                if cursor[f] < end[f] and terms[cursor[f]] == term:
                    here += tf[cursor[f]]
                    cursor[f] += 1
            weight = 1.0 + math.log(here) if here > 1 else 1.0
            square += weight * weight
            count += 1
        unique[document] = count
        norm[document] = math.sqrt(square)


@kernel
def proximity(
    forward: Forward,
    rows: Ints,
    length: Ints,
    wanted: Ints,
    by_term: Ints,
    sequence: Ints,
    places: Ints,
    out: Floats,
) -> None:
    """`PROXIMITY` of each row from the positions of the wanted terms; `by_term` sorts them by number.

    `sequence` is the query word by word (indices into `wanted`), `places` the positions of its words.
    """
    offsets, terms, tf, starts, positions = forward
    first, last = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64)
    at = np.empty(len(wanted), np.int64)
    loaded = np.int64(0)
    for r in range(len(rows)):
        # Every few rows, memory of the next ones is asked for at once: its latency is waited for together.
        if r % AHEAD == 0:
            for row in rows[r : r + AHEAD]:
                loaded += starts[row] + offsets[row]
            for row in rows[r : r + AHEAD]:
                for i in range(offsets[row], min(offsets[row] + FAR, offsets[row + 1]), LINE):
                    loaded += terms[i] + tf[i]
                for i in range(starts[row], min(starts[row] + FAR, starts[row + 1]), LINE):
                    loaded += positions[i]
        # Positions of t are first[t]..last[t]: those of the row's terms before it come first, so its place is
        # their number, which is summed up from one wanted term to the next (both ascend).
        row = rows[r]
        covered, spot, i, end = 0, starts[row], offsets[row], offsets[row + 1]
        for t in by_term:
            first[t] = last[t] = 0
            found = place_of(terms, i, end, np.int32(wanted[t]))
            if found < end and terms[found] == wanted[t]:
                before = 0
                for count in tf[i:found]:
                    before += count
                spot += before
                first[t], last[t] = spot, spot + tf[found]
                covered += 1
                i = found
        out[r, :] = 0.0
        out[r, 4] = length[r]
        if covered == 0:
            continue
        # First: positions of a term ascend, so each term's first one is enough.
        earliest = np.int64(positions[first[0]]) if last[0] > first[0] else np.int64(-1)
        for t in range(len(wanted)):
            if last[t] > first[t] and (earliest < 0 or positions[first[t]] < earliest):
                earliest = np.int64(positions[first[t]])
        out[r, 4] = earliest
        # Window: advance the leftmost cursor until its term has no more positions; the narrowest span of
        # all cursors is the shortest window (one step per position).
        width = np.int64(-1)
        at[:] = first
        while True:
            least, low, high = -1, np.int64(0), np.int64(0)
            for t in range(len(wanted)):
                if last[t] > first[t]:
                    here = np.int64(positions[at[t]])
                    if least < 0 or here < low:
                        least, low = t, here
                    high = max(high, here)
            if width < 0 or high - low + 1 < width:
                width = high - low + 1
            at[least] += 1
            if at[least] == last[least]:
                break
        out[r, 0] = width
        # Ordered and unordered: for each occurrence of a word, a binary search for its query neighbour.
        for s in range(len(sequence) - 1):
            a, b, gap = sequence[s], sequence[s + 1], places[s + 1] - places[s]
            if a == b:
                continue
            for p in range(first[a], last[a]):
                here = np.int64(positions[p])
                low_at, high_at = first[b], last[b]
                while low_at < high_at:
                    middle = (low_at + high_at) // 2
                    if positions[middle] < here - NEAR:
                        low_at = middle + 1
                    else:
                        high_at = middle
                if low_at < last[b] and positions[low_at] <= here + NEAR:
                    out[r, 2] += 1.0
                while low_at < last[b] and positions[low_at] < here + gap:
                    low_at += 1
                if low_at < last[b] and positions[low_at] == here + gap:
                    out[r, 1] += 1.0
        # Phrase: from each occurrence of the first word, every other word must be at its place.
        if covered < len(wanted):
            continue
        for p in range(first[sequence[0]], last[sequence[0]]):
            whole = True
            for s in range(1, len(sequence)):
                place = positions[p] + places[s] - places[0]
                t, there = sequence[s], False
                for q in range(first[t], last[t]):
                    if positions[q] == place:
                        there = True
                        break
                if not there:
                    whole = False
                    break
            if whole:
                out[r, 3] = 1.0
                break
    if loaded < 0:  # never: it is a sum of counts, which the compiler must not leave out
        out[0, 0] = 0.0
