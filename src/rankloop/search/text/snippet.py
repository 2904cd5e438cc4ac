"""The passage of a text that answers a query, with its words marked."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any

from rankloop.search.text.analyser import Analyser, Span

if TYPE_CHECKING:
    from rankloop.search.bm25 import Leaf
    from rankloop.search.index.snapshot import Snapshot

__all__ = ["Snippets", "snippet", "spans_of"]

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
    hits = [wanted.intersection(span.terms) for span in spans]
    first = _best_window(hits, words)
    last = min(first + words, len(spans))
    if not spans:
        return escape(text[:200])
    start = spans[first].start if first else 0
    end = _end(text, spans, last)
    parts, at = [], start
    for span, hit in zip(spans[first:last], hits[first:last], strict=True):
        if hit:
            parts += [escape(text[at : span.start]), mark[0], escape(text[span.start : span.end]), mark[1]]
            at = span.end
    parts.append(escape(text[at:end]))
    return ("… " if first else "") + "".join(parts) + (" …" if last < len(spans) else "")


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


def spans_of(text: str, analyser: Analyser) -> Sequence[Span]:
    """`analyser.spans(text)`; in ASCII text, words that were analysed before are looked up.

    Short texts are remembered: the next key of somebody who types mostly finds the same documents.
    """
    return _remembered(text, analyser) if len(text) <= SHORT else _spans(text, analyser)


@lru_cache(maxsize=1000)
def _remembered(text: str, analyser: Analyser) -> Sequence[Span]:
    return _spans(text, analyser)


def _spans(text: str, analyser: Analyser) -> Sequence[Span]:
    if not text.isascii() or analyser.grams is not None:
        return analyser.spans(text)
    known = _terms_of_words(analyser)
    return [Span(match.start(), match.end(), known[match[0]]) for match in _ASCII_WORD.finditer(text)]


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


def _end(text: str, spans: Sequence[Span], last: int) -> int:
    """Up to the next word, without the blank before it."""
    end = spans[last].start if last < len(spans) else len(text)
    return len(text[:end].rstrip())


def _best_window(hits: list[set[str]], words: int) -> int:
    """Where the window begins: most different terms, then most matches, then first."""
    best, first = (-1, -1), 0
    starts = [at for at, hit in enumerate(hits) if hit] or [0]
    for hit_at in starts:
        at = max(0, min(hit_at - words // 4, len(hits) - words))
        inside = hits[at : at + words]
        value = (len(set().union(*inside)), sum(map(bool, inside)))
        if value > best:
            best, first = value, at
    return first
