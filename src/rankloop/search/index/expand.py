"""Terms of an index with a given prefix, or within a few edits of a word."""

from collections.abc import Callable

import numpy as np

from rankloop._arrays import Bytes, Ints
from rankloop._jit import kernel
from rankloop.search.index.segment import REMEMBERED, Segment
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.text.query import Query

__all__ = ["MOST", "SHORTEST", "Expander", "near_terms", "prefix_terms"]


MOST = 50  # expansions of one word or prefix: those in the most documents
WORDS_IN_ALL = 20  # times as many expansions of one query in a field
SHORTEST = 4  # letters of a word that is corrected
SPELLINGS = 32  # misspelt words of one query that are corrected; each scans the vocabulary
AT_ONCE = 1 << 18  # words of the vocabulary that are compared between two looks at the clock


class Expander:
    """The expansions of one query: each is computed once, and `cut` says which were left out.

    `most` is the number of terms that one prefix or misspelt word stands for; in one field the
    query has twenty times as many in all.
    """

    def __init__(self, query: Query, snapshot: Snapshot, most: int = MOST) -> None:
        self.query, self.snapshot, self.most = query, snapshot, most
        self._found: dict[tuple[str, int, str], dict[str, tuple[int, int]]] = {}
        self._left = [WORDS_IN_ALL * most] * len(snapshot.text_fields)
        self._wide: dict[str, None] = {}
        self._misspelt: set[str] = set()
        self._cut: dict[str, None] = {}

    @property
    def cut(self) -> tuple[str, ...]:
        """What was left out, in sentences."""
        wide = [f"{prefix}*" for prefix in self._wide]
        named = ", ".join(wide[:3]) + (f" and {len(wide) - 3} more" if len(wide) > 3 else "")
        notes = (f"the {self.most} most frequent words are searched for each of {named}",) if wide else ()
        return (*notes, *self.ended)

    @property
    def ended(self) -> tuple[str, ...]:
        """Which limits of the whole query were reached."""
        return tuple(self._cut)

    def prefix(self, field: int, prefix: str) -> dict[str, int]:
        """The terms of a field that begin with a prefix, with their document frequencies."""

        def search() -> dict[str, tuple[int, int]]:
            found = prefix_terms(self.snapshot, field, prefix, self.most + 1)
            if len(found) > self.most:
                self._wide[prefix] = None
            return {term: (0, df) for term, df in list(found.items())[: self.most]}

        return {term: df for term, (_, df) in self._once("prefix", field, prefix, search).items()}

    def near(self, field: int, term: str) -> dict[str, tuple[int, int]]:
        """The terms of a field within some edits of a term: edits and document frequency."""

        def search() -> dict[str, tuple[int, int]]:
            if term not in self._misspelt and len(self._misspelt) == SPELLINGS:
                self._cut[f"the spelling of the first {SPELLINGS} unknown words was corrected"] = None
                return {}
            self._misspelt.add(term)
            cache, key = self.snapshot.cache, ("near", field, term, self.most)
            found: dict[str, tuple[int, int]] | None = cache.get(key)
            if found is None:
                found = near_terms(self.snapshot, field, term, self.most, self.query.check_time)
                if len(cache) >= REMEMBERED:
                    cache.clear()
                cache[key] = found
            return found

        return self._once("near", field, term, search)

    def _once(
        self, kind: str, field: int, text: str, search: Callable[[], dict[str, tuple[int, int]]]
    ) -> dict[str, tuple[int, int]]:
        key = (kind, field, text)
        if key not in self._found:
            self.query.check_time()
            left = self._left[field]
            found = search() if left else {}
            if len(found) > left or not left:
                every = WORDS_IN_ALL * self.most
                self._cut[f"prefixes and misspelt words stand for {every} words of a field in all"] = None
            self._found[key] = dict(list(found.items())[:left])
            self._left[field] -= len(self._found[key])
        return self._found[key]


def prefix_terms(snapshot: Snapshot, field: int, prefix: str, most: int = MOST) -> dict[str, int]:
    """The terms of a field that begin with a prefix, with their document frequencies, most frequent first.

    With several segments a term among the first `most` has at least 1 / segments of the smallest frequency
    that it must reach in one of them, so that few terms are looked up in all.
    """
    counts = [(s, s.terms_with_prefix(prefix)) for s in snapshot.segments]
    frequencies = [segment.dfs(field, numbers) for segment, numbers in counts]
    bar = max((int(np.partition(df, -most)[-most]) for df in frequencies if len(df) > most), default=1)
    least = max(1, -(-bar // max(len(counts), 1)))
    found: dict[str, int] = {}
    for (segment, numbers), df in zip(counts, frequencies, strict=True):
        often = np.flatnonzero(df >= least)
        if len(counts) == 1:
            often = often[np.argsort(-df[often], kind="stable")[:most]]
        for at in often.tolist():
            term = segment.term_text(numbers[at])
            if term not in found:
                found[term] = int(df[at]) if len(counts) == 1 else snapshot.df(field, term)
    return {term: found[term] for term in sorted(found, key=lambda t: (-found[t], t))[:most]}


def near_terms(
    snapshot: Snapshot, field: int, term: str, most: int = MOST, check_time: Callable[[], None] | None = None
) -> dict[str, tuple[int, int]]:
    """Terms within one edit (four letters and more) or two (eight and more): edits and document frequency.

    An edit inserts, deletes or replaces a letter, or swaps two neighbours. Terms with digits have none.
    """
    edits = 0 if len(term) < SHORTEST or not term.isalpha() else 1 if len(term) < 8 else 2
    if edits == 0:
        return {}
    wanted = np.array([ord(letter) for letter in term], np.int64)
    distance: dict[str, int] = {}
    counts: dict[str, int] = {}
    for segment in snapshot.segments:
        data, offsets = segment.arrays["vocabulary.bytes"], segment.arrays["vocabulary.offsets"]
        for first in range(0, segment.terms, AT_ONCE):
            edit = edit_distances(data, offsets[first : first + AT_ONCE + 1], wanted, edits)
            near = np.flatnonzero(edit <= edits)
            for at in near.tolist():
                distance[segment.term_text(first + at)] = int(edit[at])
            _count(segment, field, (near + first).tolist(), counts)
            if check_time is not None:
                check_time()
    best = sorted(counts, key=lambda t: (distance[t], -counts[t], t))[:most]
    return {t: (distance[t], counts[t]) for t in best}


def _count(segment: Segment, field: int, numbers: list[int], found: dict[str, int]) -> None:
    for number in numbers:
        df = segment.df(field, number)
        if df:
            term = segment.term_text(number)
            found[term] = found.get(term, 0) + df


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
