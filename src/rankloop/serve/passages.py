"""The passage of each result that answers the query, quickly: words met before are not analysed again."""

import re
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from rankloop.search import Analyser, Candidates, snippet
from rankloop.search.text.analyser import Span

__all__ = ["Passages"]

REMEMBERED = 1 << 17  # words
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")


class Passages:
    """Passages of the documents found for one query, from the longest text of each."""

    def __init__(self, found: Candidates) -> None:
        snapshot = found.snapshot
        self._wanted: dict[str, set[str]] = {}
        for leaf in found.leaves:
            self._wanted.setdefault(snapshot.text_fields[leaf.field], set()).add(leaf.term)
        self._analysers = {
            name: _Remembering.of(snapshot.analyser(name))
            for name in snapshot.text_fields
            if snapshot.fields[name].source is None
        }

    def of(self, document: Mapping[str, Any]) -> str:
        """The passage of a document, escaped, with matches in <mark>."""
        longest, field = "", ""
        for name in self._analysers:
            value = document.get(name, "")
            text = " ".join(value) if isinstance(value, list) else value
            if len(text) > len(longest):
                longest, field = text, name
        if not longest:
            return ""
        return snippet(longest, self._wanted.get(field, set()), self._analysers[field])


class _Remembering(Analyser):
    """An analyser that remembers the terms of words; most words of a page were on another page before."""

    @classmethod
    def of(cls, analyser: Analyser) -> "_Remembering":
        return _remembering(analyser)

    def spans(self, text: str) -> list[Span]:
        if not text.isascii() or self.grams is not None:
            return super().spans(text)
        known = _words(self)
        return [Span(match.start(), match.end(), known[match[0]]) for match in _ASCII_WORD.finditer(text)]


class _Words(dict[str, tuple[str, ...]]):
    """The terms of words, found when first asked for; all are forgotten when they are too many."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= REMEMBERED:
            self.clear()
        terms = tuple(term for piece in self._analyser.words(word) for term in self._analyser.terms_of(piece))
        self[word] = terms
        return terms


@lru_cache(maxsize=100)
def _remembering(analyser: Analyser) -> _Remembering:
    return _Remembering(**{one.name: getattr(analyser, one.name) for one in fields(analyser)})


@lru_cache(maxsize=100)
def _words(analyser: Analyser) -> _Words:
    return _Words(analyser)
