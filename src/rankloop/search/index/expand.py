"""Terms of an index with a given prefix, or within a few edits of a word."""

import numpy as np

from rankloop._arrays import Bytes, Ints
from rankloop._jit import kernel
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Snapshot

__all__ = ["MOST", "near_terms", "prefix_terms"]


MOST = 50  # expansions kept: those in the most documents


def prefix_terms(snapshot: Snapshot, field: int, prefix: str) -> dict[str, int]:
    """The terms of a field that begin with a prefix, with their document frequencies."""
    found: dict[str, int] = {}
    for segment in snapshot.segments:
        _count(segment, field, segment.terms_with_prefix(prefix), found)
    return _most(found)


def near_terms(snapshot: Snapshot, field: int, term: str) -> dict[str, tuple[int, int]]:
    """Terms within one edit (four letters and more) or two (eight and more): edits and document frequency.

    An edit inserts, deletes or replaces a letter, or swaps two neighbours. Terms with digits have none.
    """
    edits = 0 if len(term) < 4 or not term.isalpha() else 1 if len(term) < 8 else 2
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
def edit_distances(data: Bytes, offsets: Ints, wanted: Ints, most: int) -> Ints:
    """Optimal string alignment distance of each UTF-8 word to the wanted letters; most + 1 when above.

    The vocabulary is sorted, so a word shares the table rows of its common prefix with the word before; a
    prefix whose row has no entry within `most` rules out all words that begin with it.
    """
    words, n, longest = len(offsets) - 1, len(wanted), len(wanted) + most
    edits = np.full(words, most + 1, np.int64)
    letters = np.full(longest, -1, np.int64)
    table = np.zeros((longest + 1, n + 1), np.int64)
    for j in range(n + 1):
        table[0, j] = j
    done, hopeless = 0, longest + 1  # rows that are valid; the row from which on no word can be near
    for word in range(words):
        # Decode the word; rows stay valid up to the first letter in which it differs from the word before.
        m, same, i, end = 0, True, offsets[word], offsets[word + 1]
        while i < end and m <= longest:
            letter, i = _letter(data, i)
            if m < longest:
                if same and letter != letters[m]:
                    same = False
                    done = min(done, m)
                    if hopeless > m:
                        hopeless = longest + 1
                letters[m] = letter
            m += 1
            if same and m >= hopeless:
                break
        if min(m, longest) >= hopeless:
            continue
        # The remaining rows of the table (dynamic programming), until no entry is within `most`.
        row = done
        while row < min(m, longest):
            row += 1
            table[row, 0] = row
            least = row
            for j in range(1, n + 1):
                cost = 0 if letters[row - 1] == wanted[j - 1] else 1
                best = min(table[row - 1, j] + 1, table[row, j - 1] + 1, table[row - 1, j - 1] + cost)
                if (
                    row > 1
                    and j > 1
                    and letters[row - 1] == wanted[j - 2]
                    and letters[row - 2] == wanted[j - 1]
                ):
                    best = min(best, table[row - 2, j - 2] + 1)
                table[row, j] = best
                least = min(least, best)
            done = row
            if least > most:
                hopeless = row
                break
        if m < hopeless and m <= longest:
            edits[word] = min(table[m, n], most + 1)
    return edits


@kernel
def _letter(data: Bytes, at: int) -> tuple[np.int64, int]:
    """The letter that begins at this byte, and where the next one does."""
    byte = np.int64(data[at])
    more = 0 if byte < 0x80 else 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
    letter = byte if more == 0 else byte & (0x3F >> more)
    for i in range(1, more + 1):
        letter = (letter << 6) | (np.int64(data[at + i]) & 0x3F)
    return letter, at + more + 1
