"""Documents that will become a segment at the next commit."""

import json
from array import array
from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from rankloop._arrays import Ints
from rankloop.search.field import Field, shown
from rankloop.search.index.arrays import pack
from rankloop.search.index.limits import GAP, checked_size, checked_values, checked_words
from rankloop.search.index.plain import plain
from rankloop.search.index.postings import Arrays, forward_index, invert, joined
from rankloop.search.index.segment import id_columns, keyword_columns, name_of_field
from rankloop.search.text.analyser import Analyser

__all__ = ["Buffer"]


class Buffer:
    """Collects analysed documents; `arrays` makes a segment of them."""

    def __init__(self, fields: Mapping[str, Field], analyser: Analyser) -> None:
        self.fields = fields
        self.text = {
            name: _Tokens(field.analyser or analyser)
            for name, field in fields.items()
            if field.kind == "text"
        }
        self.columns: dict[str, list[Any]] = {name: [] for name in fields if name not in self.text}
        self.vocabulary: dict[str, int] = {}
        self.ids: list[str] = []
        self.stored: list[bytes] = []
        self.at: dict[str, int] = {}
        self.deleted: list[int] = []

    @property
    def tokens(self) -> int:
        return sum(len(tokens.ids) for tokens in self.text.values())

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, id: str, document: Mapping[str, Any]) -> None:
        """Take a document; an error names its invalid field and changes nothing."""
        values, words = {}, {}
        for name, field in self.fields.items():
            given = document.get(field.source or name)
            try:
                values[name] = None if given is None else field.convert(given)
                if name in self.text:
                    words[name] = self.text[name].words(values[name] or ())
            except (ValueError, OverflowError) as error:
                raise ValueError(f"document {shown(id)}, field {name!r}: wanted {error}") from None
        kept = {
            name: value
            for name, value in document.items()
            if value is not None and (name not in self.fields or self.fields[name].kind != "vector")
        }
        try:
            checked_values(document)
            stored = json.dumps(kept, default=_plain, separators=(",", ":")).encode()
            checked_size(stored)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"document {shown(id)} cannot be stored as JSON: {error}") from None
        for name, tokens in self.text.items():
            tokens.add(words[name], self.vocabulary)
        for name, column in self.columns.items():
            column.append(values[name])
        self.at[id] = len(self.ids)
        self.ids.append(id)
        self.stored.append(stored)

    def drop(self, id: str) -> bool:
        """Remove a document from the buffer; gives whether it was in it."""
        document = self.at.pop(id, None)
        if document is None:
            return False
        self.deleted.append(document)
        return True

    def document(self, id: str) -> dict[str, Any] | None:
        """A document of the buffer as it was given."""
        at = self.at.get(id)
        if at is None:
            return None
        vectors = {
            name: column[at] for name, column in self.columns.items() if self.fields[name].kind == "vector"
        }
        return {**json.loads(self.stored[at]), **{name: v for name, v in vectors.items() if v is not None}}

    def arrays(self) -> Arrays:
        """The documents as the arrays of a segment."""
        documents, words = len(self.ids), sorted(self.vocabulary)
        number = np.empty(len(words), np.int64)
        number[[self.vocabulary[word] for word in words]] = np.arange(len(words))
        forward = joined([tokens.forward(number, documents) for tokens in self.text.values()], documents)
        made: Arrays = {"live": np.ones(documents, np.uint8)}
        made["vocabulary.bytes"], made["vocabulary.offsets"] = pack(
            word.encode("utf-8", "surrogatepass") for word in words
        )
        made.update({f"forward.{name}": values for name, values in forward.items()})
        made.update({f"postings.{name}": values for name, values in invert(forward, len(words)).items()})
        made["stored.bytes"], made["stored.offsets"] = pack(self.stored)
        made.update(id_columns(self.ids))
        for name, values in self.columns.items():
            made.update(_column(name, self.fields[name], values))
        return made


class _Tokens:
    """The tokens of one field, end to end."""

    def __init__(self, analyser: Analyser) -> None:
        self.analyser = analyser
        self.known: dict[str, int | tuple[int, ...]] = {}
        self.ids = array("i")
        self.positions = array("i")
        self.counts: list[int] = []

    def words(self, texts: list[str] | tuple[()]) -> list[list[str]]:
        """The words of each text, checked; nothing is taken yet."""
        found = [self.analyser.words(text) for text in texts]
        checked_words(found, {word for words in found for word in set(words).difference(self.known)})
        return found

    def add(self, texts: list[list[str]], vocabulary: dict[str, int]) -> None:
        before, start = len(self.ids), 0
        for words in texts:
            for word in set(words).difference(self.known):
                self.known[word] = self._number(word, vocabulary)
            numbers = [self.known[word] for word in words]
            try:
                self.ids.extend(numbers)  # type: ignore[arg-type]  # a tuple raises TypeError
                self.positions.extend(range(start, start + len(numbers)))
            except TypeError:  # some word has several terms
                del self.ids[len(self.positions) :]
                groups = [number if isinstance(number, tuple) else (number,) for number in numbers]
                self.ids.extend(chain.from_iterable(groups))
                self.positions.extend(start + i for i, group in enumerate(groups) for _ in group)
            start += len(words) + GAP
        self.counts.append(len(self.ids) - before)

    def _number(self, word: str, vocabulary: dict[str, int]) -> int | tuple[int, ...]:
        numbers = tuple(vocabulary.setdefault(term, len(vocabulary)) for term in self.analyser.terms_of(word))
        return numbers if len(numbers) > 1 else numbers[0] if numbers else -1

    def forward(self, number: Ints, documents: int) -> Arrays:
        ids = np.frombuffer(self.ids, np.int32) if self.ids else np.empty(0, np.int32)
        kept = ids >= 0
        document = np.repeat(np.arange(documents), self.counts)[kept]
        positions = np.frombuffer(self.positions, np.int32) if self.ids else ids
        return forward_index(document, number[ids[kept]], positions[kept], documents, len(number))


def _column(name: str, field: Field, values: list[Any]) -> Arrays:
    if field.kind == "keyword":
        return keyword_columns(name, (words or [] for words in values))
    if field.kind == "vector":
        rows = np.full((len(values), field.dimension), np.nan, np.float32)
        for row, vector in zip(rows, values, strict=True):
            if vector is not None:
                row[:] = vector
        return {name_of_field("vector", name): rows}
    return {name_of_field("number", name): np.array([np.nan if v is None else v for v in values], np.float64)}


def _plain(value: Any) -> Any:
    made = plain(value)
    if made is value:
        raise TypeError(f"no JSON for a {type(value).__name__}")
    return made
