"""The passage of a text that answers a query, with its words marked."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from rankloop.search.text.analyser import Analyser, Span

if TYPE_CHECKING:
    from rankloop.search.bm25 import Leaf
    from rankloop.search.index.snapshot import Snapshot

__all__ = ["Snippets", "Spans", "snippet", "spans_of"]

CACHED_WORDS = 1 << 17  # per analyser
SHORT = 1000  # letters of a text that is remembered
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")


def snippet(
    text: str,
    terms: Collection[str],
    analyser: Analyser,
    *,
    words: int = 30,
    mark: tuple[str, str] = ("<mark>", "</mark>"),
) -> str:
    """The window of `words` words with the most different terms, escaped for HTML, its matches marked.

    >>> snippet("Shoes & boots. Made for <runners> who run.", {"run", "runner"}, Analyser(), words=5)
    '… Made for &lt;<mark>runners</mark>&gt; who <mark>run</mark>.'
    """
    if words < 1:
        raise ValueError(f"a snippet has at least 1 word, got {words}")
    spans = spans_of(text, analyser)
    wanted = set(terms)
    hits = {at: found for at, terms in enumerate(spans.terms) if (found := wanted.intersection(terms))}
    first = _best_window(hits, len(spans.terms), words)
    last = min(first + words, len(spans.terms))
    if not spans.terms:
        return escape(text[:200])
    end = _end(text, spans, last)
    parts, at = [], spans.starts[first] if first else 0
    for number in hits:
        if first <= number < last:
            start, stop = spans.starts[number], spans.ends[number]
            parts += [escape(text[at:start]), mark[0], escape(text[start:stop]), mark[1]]
            at = stop
    parts.append(escape(text[at:end]))
    return ("… " if first else "") + "".join(parts) + (" …" if last < len(spans.terms) else "")


class Snippets:
    """Snippets of the documents found for one query, each from the document's longest text field."""

    def __init__(self, snapshot: "Snapshot", leaves: "Iterable[Leaf]") -> None:
        self._terms: dict[str, set[str]] = {}
        for leaf in leaves:
            self._terms.setdefault(snapshot.text_fields[leaf.field], set()).add(leaf.term)
        self._analysers = {
            name: snapshot.analyser(name)
            for name in snapshot.text_fields
            if snapshot.fields[name].source is None
        }

    def of(self, document: Mapping[str, Any]) -> str:
        """The snippet of a stored document; empty where it has no text."""
        longest, field = "", ""
        for name in self._analysers:
            value = document.get(name, "")
            text = " ".join(value) if isinstance(value, list) else value
            if len(text) > len(longest):
                longest, field = text, name
        return snippet(longest, self._terms.get(field, ()), self._analysers[field]) if longest else ""


@dataclass(frozen=True, slots=True)
class Spans:
    """The words of a text with their places, in few objects: an object a word keeps the collector busy."""

    starts: list[int]
    ends: list[int]
    terms: list[tuple[str, ...]]

    def __iter__(self) -> Iterator[Span]:
        return map(Span, self.starts, self.ends, self.terms)


def spans_of(text: str, analyser: Analyser) -> Spans:
    """`analyser.spans(text)`; in ASCII text, words that were analysed before are looked up.

    Short texts are remembered: the next key of somebody who types mostly finds the same documents.
    """
    return _remembered(text, analyser) if len(text) <= SHORT else _spans(text, analyser)


@lru_cache(maxsize=1000)
def _remembered(text: str, analyser: Analyser) -> Spans:
    return _spans(text, analyser)


def _spans(text: str, analyser: Analyser) -> Spans:
    if not text.isascii() or analyser.grams is not None:
        found = analyser.spans(text)
        return Spans(
            [span.start for span in found], [span.end for span in found], [span.terms for span in found]
        )
    known = _terms_of_words(analyser)
    matches = list(_ASCII_WORD.finditer(text))
    return Spans(
        [match.start() for match in matches],
        [match.end() for match in matches],
        [known[match[0]] for match in matches],
    )


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


def _end(text: str, spans: Spans, last: int) -> int:
    """Up to the next word, without the blank before it."""
    end = spans.starts[last] if last < len(spans.starts) else len(text)
    return len(text[:end].rstrip())


def _best_window(hits: Mapping[int, set[str]], length: int, words: int) -> int:
    """Where the window begins: most different terms, then most matches, then first."""
    best, first = (-1, -1), 0
    places, found = list(hits), list(hits.values())
    for place in places:
        at = max(0, min(place - words // 4, length - words))
        inside = found[bisect_left(places, at) : bisect_left(places, at + words)]
        value = (len(set().union(*inside)), len(inside))
        if value > best:
            best, first = value, at
    return first
