"""The passage of a text that answers a query, with its words marked."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._arrays import Ints
from rankloop.search.index.word_places import word_places
from rankloop.search.text.analyser import Analyser, Span

if TYPE_CHECKING:
    from rankloop.search.bm25 import Leaf
    from rankloop.search.index.snapshot import Snapshot

__all__ = ["Highlighter", "Snippets", "snippet", "spans_of"]

CACHED_WORDS = 1 << 17  # per analyser
WORDS, MARK = 30, ("<mark>", "</mark>")
MOST_MATCHES = 1000  # of a text, from its beginning, that are looked at: a book may have 100,000
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_TO_BLANKS = "".join(one if one.isalnum() else " " for one in map(chr, range(128)))
Hits = Mapping[int, Collection[Any]]  # the number of a word -> which terms it has


def snippet(
    text: str, terms: Collection[str], analyser: Analyser, *, words: int = WORDS, mark: tuple[str, str] = MARK
) -> str:
    """The window of `words` words with the most different terms, escaped for HTML, its matches marked.

    >>> snippet("Shoes & boots. Made for <runners> who run.", {"run", "runner"}, Analyser(), words=5)
    '… Made for &lt;<mark>runners</mark>&gt; who <mark>run</mark>.'
    """
    return Highlighter(terms, analyser).snippet(text, words=words, mark=mark)


class Highlighter:
    """Snippets for the terms of one query."""

    def __init__(self, terms: Collection[str], analyser: Analyser) -> None:
        self._analyser, self._known = analyser, _terms_of_words(analyser)
        self._wanted = frozenset(terms)

    def snippet(
        self, text: str, *, words: int = WORDS, mark: tuple[str, str] = MARK, hits: Hits | None = None
    ) -> str:
        """See `snippet`; `hits` are the words of the text that have terms, where that is known."""
        if words < 1:
            raise ValueError(f"a snippet has at least 1 word, got {words}")
        every = _words(text, self._analyser)
        if not every:
            return escape(text[:200])
        if hits is None:
            hits = self._hits(every)
        first = _best_window(hits, len(every), words)
        last = min(first + words, len(every))
        # A word is where its letters come next: between two words are none.
        here = 0
        for word in every[:first]:
            here = text.find(word, here) + len(word)
        parts, at = [], text.find(every[first], here) if first else 0
        for number in range(first, last):
            word = every[number]
            here = text.find(word, here)
            if number in hits:
                parts += [escape(text[at:here]), mark[0], escape(word), mark[1]]
                at = here + len(word)
            here += len(word)
        end = text.find(every[last], here) if last < len(every) else len(text)
        parts.append(escape(text[at:end].rstrip()))  # up to the next word, without the blank before it
        return ("… " if first else "") + "".join(parts) + (" …" if last < len(every) else "")

    def _hits(self, every: list[str]) -> Hits:
        """The words that have terms of the query, by number, with these terms."""
        known, other = self._known, self._wanted.isdisjoint
        having = {at: terms for at, word in enumerate(every) if not other(terms := known[word])}
        matches = islice(having.items(), MOST_MATCHES)
        return {at: self._wanted.intersection(terms) for at, terms in matches}


class Snippets:
    """Snippets of the documents found for one query, each from the document's longest text field.

    Of `rows` the index knows which words have terms of the query, so that their texts are not analysed again.
    """

    def __init__(self, snapshot: "Snapshot", leaves: "Iterable[Leaf]", rows: Ints) -> None:
        self._snapshot = snapshot
        terms: dict[str, set[str]] = {}
        for leaf in leaves:
            terms.setdefault(snapshot.text_fields[leaf.field], set()).add(leaf.term)
        self._terms = terms
        self._highlighters = {
            name: Highlighter(terms.get(name, ()), snapshot.analyser(name))
            for name in snapshot.text_fields
            if snapshot.fields[name].source is None
        }
        self._numbers: dict[tuple[str, str], Ints] = {}
        for segment, inside in snapshot.by_segment(rows):
            segment.touch_forward(rows[inside] - segment.base)

    def of(self, row: int, document: Mapping[str, Any]) -> str:
        """The snippet of the stored document in one of the rows; empty where it has no text."""
        longest, field = "", ""
        for name in self._highlighters:
            value = document.get(name, "")
            text = " ".join(value) if isinstance(value, list) else value
            if len(text) > len(longest):
                longest, field = text, name
        if not longest:
            return ""
        hits = self._hits(row, field) if self._is_indexed_alike(field, document[field]) else None
        return self._highlighters[field].snippet(longest, hits=hits)

    def _is_indexed_alike(self, field: str, value: Any) -> bool:
        """Whether the positions of the index number the words of a value: of n-grams, of several texts and of
        letters that are written out they do not."""
        return isinstance(value, str) and value.isascii() and self._snapshot.analyser(field).grams is None

    def _hits(self, row: int, field: str) -> Hits:
        segment, document = self._snapshot.locate(row)
        key = (segment.name, field)
        if key not in self._numbers:
            numbers = {segment.term(term) for term in self._terms.get(field, ())} - {-1}
            self._numbers[key] = np.array(sorted(numbers), np.int64)
        at = self._snapshot.text_fields.index(field) * segment.documents + document
        places, terms = word_places(segment.forward, at, self._numbers[key], MOST_MATCHES)
        hits: dict[int, list[int]] = {}
        for place, term in zip(places.tolist(), terms.tolist(), strict=True):
            hits.setdefault(place, []).append(term)
        return hits


def spans_of(text: str, analyser: Analyser) -> Iterator[Span]:
    """`analyser.spans(text)`; words that were analysed before are looked up."""
    known = _terms_of_words(analyser)
    for match in (_ASCII_WORD if text.isascii() else analyser.word).finditer(text):
        yield Span(match.start(), match.end(), known[match[0]])


def _words(text: str, analyser: Analyser) -> list[str]:
    """The words of a text as it was given; of ASCII text they are what lies between other characters."""
    return text.translate(_TO_BLANKS).split() if text.isascii() else analyser.word.findall(text)


class _TermsOfWords(dict[str, tuple[str, ...]]):
    """The terms of words, computed on first use; emptied when there are too many."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= CACHED_WORDS:
            self.clear()
        terms = tuple(term for piece in self._analyser.words(word) for term in self._analyser.terms_of(piece))
        self[word] = terms
        return terms


@lru_cache(maxsize=100)
def _terms_of_words(analyser: Analyser) -> _TermsOfWords:
    return _TermsOfWords(analyser)


def _best_window(hits: Hits, length: int, words: int) -> int:
    """Where the window begins: most different terms, then most matches, then first."""
    best, first = (-1, -1), 0
    places, found = list(hits), list(hits.values())
    for place in places:
        at = max(0, min(place - words // 4, length - words))
        inside = found[bisect_left(places, at) : bisect_left(places, at + words)]
        value = (len(frozenset().union(*inside)), len(inside))
        if value > best:
            best, first = value, at
    return first
