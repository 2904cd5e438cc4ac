"""Text to terms, for documents and queries alike."""

import re
import threading
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, NamedTuple

from rankloop._extras import require
from rankloop._names import one_of
from rankloop.search.text.stop_words import STOP_WORDS

__all__ = ["Analyser", "Span"]

LONGEST_WORD = 128
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


class Span(NamedTuple):
    """A word of a text: its start and end, and the terms it is indexed by."""

    start: int
    end: int
    terms: tuple[str, ...]


@dataclass(frozen=True)
class Analyser:
    """Turns text into terms: NFKC, lower case, words, no accents, no stop words, Snowball stems.

    Words are runs of letters and digits; each ideograph and kana is a word. `language=None` has no
    stems and no stop words. `prefixes=(2, 8)` also emits the beginnings of each word (search as you type).
    `grams=(3, 4)` emits character n-grams of the concatenated words, in place of words: they match
    despite typos and blanks; words listed in `stop_words` are left out first. Without `grams` a stop word
    leaves a gap in the positions, so that phrases stay exact.

    >>> Analyser().terms("The Crème brûlée's RUNNERS ﬁnish")
    ['creme', 'brulee', 'runner', 'finish']
    >>> Analyser(grams=(3, 3)).terms("X-Men 2")
    ['xme', 'men', 'en2']
    """

    language: str | None = "english"
    stop_words: bool | tuple[str, ...] = True
    stem: bool = True
    fold: bool = True
    prefixes: tuple[int, int] | None = None
    grams: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.language is not None and self.stem and self.grams is None:
            one_of("language", self.language, _languages())
        for name in ("prefixes", "grams"):
            sizes = getattr(self, name)
            if sizes is not None and not (len(sizes) == 2 and 1 <= sizes[0] <= sizes[1]):
                raise ValueError(f"{name} is (shortest, longest) with 1 <= shortest <= longest, got {sizes}")
        if self.prefixes and self.grams:
            raise ValueError("give prefixes or grams, not both: n-grams already hold every prefix")

    def words(self, text: str) -> list[str]:
        """The words of a text before stemming, or its n-grams: what `terms_of` takes."""
        plain = _normal(text)
        found = _pattern(plain.isascii()).findall(plain)
        if self.grams is None:
            return found
        left_out = self.stop_words if isinstance(self.stop_words, tuple) else ()
        kept = (_folded(word) if self.fold else word for word in found if word not in left_out)
        joined = "".join(kept)
        low, high = self.grams
        if len(joined) < low:
            return [joined] if joined else []
        return [joined[i : i + n] for n in range(low, high + 1) for i in range(len(joined) - n + 1)]

    def terms_of(self, word: str) -> tuple[str, ...]:
        """The terms one word is indexed by: none for a stop word, several with `prefixes`."""
        if self.grams is not None:
            return (word,)
        if len(word) > LONGEST_WORD or word in _stop_set(self.stop_words, self.language):
            return ()
        plain = _folded(word) if self.fold else word
        if self.stem and self.language is not None:
            stem: str = _stemmer(self.language).stemWord(word)
            term = _folded(stem) if self.fold else stem
        else:
            term = plain
        if self.prefixes is None:
            return (term,)
        low, high = self.prefixes
        starts = (plain[:n] for n in range(low, min(high, len(plain)) + 1))
        return tuple(dict.fromkeys((term, *starts)))

    def terms(self, text: str) -> list[str]:
        """The terms of a text in order."""
        return [term for word in self.words(text) for term in self.terms_of(word)]

    def prefix(self, text: str) -> str:
        """The beginning of a word, normalised as in the index."""
        plain = "".join(_pattern(False).findall(_normal(text)))
        return _folded(plain) if self.fold else plain

    def spans(self, text: str) -> list[Span]:
        """The words of the text as it was given, with their places."""
        return [
            Span(match.start(), match.end(), tuple(t for w in self.words(match[0]) for t in self.terms_of(w)))
            for match in self.word.finditer(text)
        ]

    @property
    def word(self) -> re.Pattern[str]:
        """What a word is in a text as it was given."""
        return _pattern(False)

    def to_dict(self) -> dict[str, Any]:
        """The parameters, for a manifest."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Analyser":
        """The analyser whose `to_dict` this is."""
        parameters: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in saved.items()}
        return cls(**parameters)


def _normal(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())


def _folded(word: str) -> str:
    if word.isascii():
        return word
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare) or word


@cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    if ascii_only:
        return re.compile(r"[a-z0-9]+")
    marks = "".join(chr(c) for c in range(0x300, 0xFFFF) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    letter = rf"[^\W_{_CJK}]"
    return re.compile(rf"[{_CJK}][{marks}]*|{letter}(?:{letter}|[{marks}])*")


@cache
def _stop_set(stop_words: bool | tuple[str, ...], language: str | None) -> frozenset[str]:
    if isinstance(stop_words, tuple):
        return frozenset(stop_words)
    return frozenset(STOP_WORDS.get(language or "", "").split()) if stop_words else frozenset()


@cache
def _languages() -> tuple[str, ...]:
    return tuple(require("Stemmer", "search").algorithms())


_stemmers = threading.local()


def _stemmer(language: str) -> Any:
    """One stemmer per thread and language: they are not thread-safe.

    Its cache (10,000 words per thread) is off: stemming a word again takes no longer.
    """
    known = _stemmers.__dict__
    if language not in known:
        known[language] = require("Stemmer", "search").Stemmer(language, 0)
    return known[language]
