"""Near-duplicates: one document of each group stays on the page."""

import math

import numpy as np
from numpy.typing import NDArray

from rankloop._arrays import Bytes, Ints
from rankloop._jit import kernel
from rankloop.search.candidates import Candidates
from rankloop.search.index.postings import Forward
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.stage import Stage

__all__ = ["collapse", "signatures"]


HASHES = 128


class collapse(Stage):  # noqa: N801 - a verb in a pipeline: >> collapse()
    """Keeps the first of each group of near-duplicates.

    Texts are compared by their shingles (runs of three terms) over all text fields. The Jaccard similarity of
    two is estimated by MinHash (Broder, 1997) with 128 hashes: a standard error of at most 0.045. The column
    `duplicates` holds the size of each group.

    >>> collapse(0.9)
    collapse(0.9)
    """

    def __init__(self, threshold: float = 0.8) -> None:
        if not 0 < threshold <= 1:
            raise ValueError(f"collapse takes a threshold above 0 and at most 1, got {threshold}")
        self.threshold = threshold

    def __call__(self, given: Candidates) -> Candidates:
        group = first_alike(signatures(given.snapshot, given.rows), math.ceil(self.threshold * HASHES))
        kept, counts = np.unique(group, return_counts=True)
        return given.take(kept).with_column("duplicates", counts)

    def __repr__(self) -> str:
        return f"collapse({self.threshold})"


@kernel
def first_alike(marks: NDArray[np.uint32], needed: int) -> Ints:
    """For each signature the first kept one that agrees in `needed` hashes or more; else itself, now kept."""
    n, hashes = marks.shape
    alike = np.empty(n, np.int64)
    kept = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        alike[i] = i
        empty = True
        for h in range(hashes):
            empty &= marks[i, h] == 0
        for j in range(0 if empty else count):
            misses = 0
            for h in range(hashes):
                misses += marks[i, h] != marks[kept[j], h]
                if misses > hashes - needed:
                    break
            if misses <= hashes - needed:
                alike[i] = kept[j]
                break
        if alike[i] == i:
            kept[count] = i
            count += 1
    return alike


def signatures(snapshot: Snapshot, rows: Ints) -> NDArray[np.uint32]:
    """The MinHash signature of each document, rows x 128; zeros for a document without terms."""
    marks = np.zeros((len(rows), HASHES), np.uint32)
    fields = [i for i, name in enumerate(snapshot.text_fields) if snapshot.fields[name].source is None]
    for segment, inside in snapshot.by_segment(rows):
        arrays = segment.arrays
        segment.touch_forward(rows[inside] - segment.base)
        marks[inside] = minhash(
            arrays["vocabulary.bytes"],
            arrays["vocabulary.offsets"],
            segment.forward,
            segment.documents,
            rows[inside] - segment.base,
            np.array(fields, np.int64),
        )
    return marks


@kernel
def _mixed(x: np.uint64) -> np.uint64:
    """SplitMix64: every bit of the input reaches every bit of the output."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def minhash(
    data: Bytes, words: Ints, forward: Forward, documents: int, rows: Ints, fields: Ints
) -> NDArray[np.uint32]:
    """The smallest of each of 128 hashes over the shingles of each document.

    The forward index holds the term at each position, so no text is analysed again; one FNV hash
    per term and one mixing step per hash function replace 128 hashes of text.
    """
    offsets, terms, tf, starts, positions = forward
    marks = np.zeros((len(rows), HASHES), np.uint32)
    golden = np.uint64(0x9E3779B97F4A7C15)
    for r in range(len(rows)):
        least = np.full(HASHES, np.uint64(0xFFFFFFFFFFFFFFFF))
        some = False
        for field in fields:
            row = field * documents + rows[r]
            # The hash of the term at each position of the field.
            last = 0
            for i in range(starts[row], starts[row + 1]):
                last = max(last, positions[i] + 1)
            token = np.zeros(last, np.uint64)
            at = starts[row]
            for i in range(offsets[row], offsets[row + 1]):
                hashed = np.uint64(14695981039346656037)
                for j in range(words[terms[i]], words[terms[i] + 1]):
                    hashed = (hashed ^ np.uint64(data[j])) * np.uint64(1099511628211)
                for _ in range(tf[i]):
                    token[positions[at]] = hashed
                    at += 1
            n = 0
            for i in range(last):  # without the gaps of stop words
                if token[i] != 0:
                    token[n] = token[i]
                    n += 1
            # Each run of three terms as one hash, and 128 hashes derived from it.
            for i in range(max(1, n - 2) if n else 0):
                shingle = golden
                for j in range(i, min(i + 3, n)):
                    shingle = _mixed(shingle + token[j])
                some = True
                for h in range(HASHES):
                    value = _mixed(shingle + np.uint64(h + 1) * golden)
                    if value < least[h]:
                        least[h] = value
        if some:
            for h in range(HASHES):
                marks[r, h] = np.uint32(least[h] & np.uint64(0xFFFFFFFF))
    return marks
