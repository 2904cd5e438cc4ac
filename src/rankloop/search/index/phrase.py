"""Which documents have a phrase: intersect the postings of its terms, then compare positions."""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Bytes, Ints
from rankloop._jit import kernel
from rankloop.search.index.postings import Forward
from rankloop.search.index.segment import Segment

__all__ = ["in_order", "with_phrase"]

AT_ONCE = 4_096  # documents between two looks at the clock


def with_phrase(
    segment: Segment, field: int, terms: Ints, gaps: Ints, check_time: Callable[[], None]
) -> Bytes:
    """Which documents have all terms at positions p + gap for some p."""
    rare_first = sorted(set(terms.tolist()), key=lambda term: len(segment.postings(field, term)))
    docs = segment.postings(field, rare_first[0])
    for term in rare_first[1:]:
        if not len(docs):
            break
        check_time()
        docs = docs[np.isin(docs, segment.postings(field, term), assume_unique=True)]
    known, which = np.unique(terms, return_inverse=True)
    has = np.zeros(segment.documents, np.uint8)
    for first in range(0, len(docs), AT_ONCE):
        check_time()
        some = docs[first : first + AT_ONCE].astype(np.int64)
        segment.touch_forward(some)
        rows = some + field * segment.documents
        has[some] = in_order(
            segment.forward, rows, known.astype(np.int64), which.astype(np.int64), gaps.astype(np.int64)
        )
    return has


@kernel
def in_order(forward: Forward, rows: Ints, known: Ints, which: Ints, gaps: Ints) -> Bytes:
    """Whether each row has all words at positions p + gap for some p; every row must have each term.

    `known` are the different terms, ascending; word w of the phrase is `known[which[w]]`.
    """
    offsets, row_terms, tf, starts, positions = forward
    found = np.zeros(len(rows), np.uint8)
    first, last = np.empty(len(known), np.int64), np.empty(len(known), np.int64)
    for r in range(len(rows)):
        row = rows[r]
        # Merge the row's terms with the wanted ones, both ascending: positions of t are first[t]..last[t].
        spot, t = starts[row], 0
        for i in range(offsets[row], offsets[row + 1]):
            if row_terms[i] == known[t]:
                first[t], last[t] = spot, spot + tf[i]
                t += 1
                if t == len(known):
                    break
            spot += tf[i]
        # From each position of the first word, a binary search for each of the others.
        for p in range(first[which[0]], last[which[0]]):
            here = positions[p] - gaps[0]
            whole = True
            for w in range(1, len(which)):
                t = which[w]
                low, high = first[t], last[t]
                while low < high:
                    middle = (low + high) // 2
                    if positions[middle] < here + gaps[w]:
                        low = middle + 1
                    else:
                        high = middle
                if low == last[t] or positions[low] != here + gaps[w]:
                    whole = False
                    break
            if whole:
                found[r] = 1
                break
    return found
