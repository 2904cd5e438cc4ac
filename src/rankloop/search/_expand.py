"""Terms of an index that begin like a word, or are a slip of the finger away."""

import numpy as np
from numpy.typing import NDArray

from rankloop._jit import kernel
from rankloop.search._segment import Segment
from rankloop.search._snapshot import Snapshot

__all__ = ["MOST", "near_terms", "prefix_terms"]

MOST = 50  # expansions kept: those in the most documents


def prefix_terms(snapshot: Snapshot, field: int, prefix: str) -> dict[str, int]:
    """The terms of a field that begin like this, with their document frequencies."""
    found: dict[str, int] = {}
    for segment in snapshot.segments:
        _count(segment, field, segment.terms_with_prefix(prefix), found)
    return _most(found)


def near_terms(snapshot: Snapshot, field: int, term: str) -> dict[str, tuple[int, int]]:
    """Terms within one edit (four letters and more) or two (eight and more): edits and document frequency.

    An edit inserts, deletes or replaces a letter, or swaps two neighbours.
    """
    edits = 0 if len(term) < 4 else 1 if len(term) < 8 else 2
    if edits == 0:
        return {}
    wanted = np.array([ord(letter) for letter in term], np.int64)
    distance: dict[str, int] = {}
    counts: dict[str, int] = {}
    for segment in snapshot.segments:
        edit = edit_distances(
            segment.arrays["vocabulary.bytes"], segment.arrays["vocabulary.offsets"], wanted, edits
        )
        near = np.flatnonzero(edit <= edits)
        for number in near.tolist():
            distance[segment.term_text(number)] = int(edit[number])
        _count(segment, field, near.tolist(), counts)
    best = sorted(counts, key=lambda t: (distance[t], -counts[t], t))[:MOST]
    return {t: (distance[t], counts[t]) for t in best}


def _count(segment: Segment, field: int, numbers: "range | list[int]", found: dict[str, int]) -> None:
    for number in numbers:
        df = segment.df(field, number)
        if df:
            term = segment.term_text(number)
            found[term] = found.get(term, 0) + df


def _most(found: dict[str, int]) -> dict[str, int]:
    return {term: found[term] for term in sorted(found, key=lambda t: (-found[t], t))[:MOST]}


@kernel
def edit_distances(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], wanted: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Optimal string alignment distance of each UTF-8 word to the wanted letters; most + 1 when above."""
    words, n = len(offsets) - 1, len(wanted)
    edits = np.full(words, most + 1, np.int64)
    letters = np.empty(n + most + 1, np.int64)
    before, last, now = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for word in range(words):
        if offsets[word + 1] - offsets[word] > 4 * (n + most) or offsets[word + 1] - offsets[word] < n - most:
            continue
        m = 0
        for i in range(offsets[word], offsets[word + 1]):
            byte = np.int64(data[i])
            if byte & 0xC0 == 0x80:
                letters[m - 1] = (letters[m - 1] << 6) | (byte & 0x3F)
                continue
            if m == len(letters):
                m += 1
                break
            if byte < 0x80:
                letters[m] = byte
            elif byte < 0xE0:
                letters[m] = byte & 0x1F
            elif byte < 0xF0:
                letters[m] = byte & 0x0F
            else:
                letters[m] = byte & 0x07
            m += 1
        if m > n + most or m < n - most:
            continue
        for j in range(n + 1):
            last[j] = j
        for i in range(1, m + 1):
            now[0] = i
            least = i
            for j in range(1, n + 1):
                cost = 0 if letters[i - 1] == wanted[j - 1] else 1
                best = min(last[j] + 1, now[j - 1] + 1, last[j - 1] + cost)
                if i > 1 and j > 1 and letters[i - 1] == wanted[j - 2] and letters[i - 2] == wanted[j - 1]:
                    best = min(best, before[j - 2] + 1)
                now[j] = best
                least = min(least, best)
            before, last, now = last, now, before
            if least > most:
                break
        if m == 0:
            edits[word] = min(n, most + 1)
        elif least <= most:
            edits[word] = min(last[n], most + 1)
    return edits
