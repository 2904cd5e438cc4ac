"""The passage of a text that answers a query, with its words marked."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

from rankloop.search.text.analyser import Analyser, Span

if TYPE_CHECKING:
    from rankloop.search.bm25 import Leaf
    from rankloop.search.index.snapshot import Snapshot

__all__ = ["Highlighter", "Snippets", "snippet", "spans_of"]

CACHED_WORDS = 1 << 17  # per analyser
WORDS, MARK = 30, ("<mark>", "</mark>")
MOST_MATCHES = 1000  # of a text, from its beginning, that are looked at: a book may have 100,000
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")


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

    def snippet(self, text: str, *, words: int = WORDS, mark: tuple[str, str] = MARK) -> str:
        """See `snippet`."""
        if words < 1:
            raise ValueError(f"a snippet has at least 1 word, got {words}")
        pattern, known, other = _word(text, self._analyser), self._known, self._wanted.isdisjoint
        every = pattern.findall(text)
        if not every:
            return escape(text[:200])
        having = {at: terms for at, word in enumerate(every) if not other(terms := known[word])}
        matches = islice(having.items(), MOST_MATCHES)
        hits = {at: self._wanted.intersection(terms) for at, terms in matches}
        first = _best_window(hits, len(every), words)
        last = min(first + words, len(every))
        # Places in the text are looked for up to the end of the window only.
        places = list(islice(pattern.finditer(text), first, last + 1))
        end = places[last - first].start() if last < len(every) else len(text)
        parts, at = [], places[0].start() if first else 0
        for number in hits:
            if first <= number < last:
                start, stop = places[number - first].span()
                parts += [escape(text[at:start]), mark[0], escape(text[start:stop]), mark[1]]
                at = stop
        parts.append(escape(text[at:end].rstrip()))  # up to the next word, without the blank before it
        return ("… " if first else "") + "".join(parts) + (" …" if last < len(every) else "")


class Snippets:
    """Snippets of the documents found for one query, each from the document's longest text field."""

    def __init__(self, snapshot: "Snapshot", leaves: "Iterable[Leaf]") -> None:
        terms: dict[str, set[str]] = {}
        for leaf in leaves:
            terms.setdefault(snapshot.text_fields[leaf.field], set()).add(leaf.term)
        self._highlighters = {
            name: Highlighter(terms.get(name, ()), snapshot.analyser(name))
            for name in snapshot.text_fields
            if snapshot.fields[name].source is None
        }

    def of(self, document: Mapping[str, Any]) -> str:
        """The snippet of a stored document; empty where it has no text."""
        longest, field = "", ""
        for name in self._highlighters:
            value = document.get(name, "")
            text = " ".join(value) if isinstance(value, list) else value
            if len(text) > len(longest):
                longest, field = text, name
        return self._highlighters[field].snippet(longest) if longest else ""


def spans_of(text: str, analyser: Analyser) -> Iterator[Span]:
    """`analyser.spans(text)`; words that were analysed before are looked up."""
    known = _terms_of_words(analyser)
    for match in _word(text, analyser).finditer(text):
        yield Span(match.start(), match.end(), known[match[0]])


def _word(text: str, analyser: Analyser) -> re.Pattern[str]:
    """What a word is in a text as it was given; a simpler pattern says the same of ASCII text."""
    return _ASCII_WORD if text.isascii() else analyser.word


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


def _best_window(hits: Mapping[int, frozenset[str]], length: int, words: int) -> int:
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
