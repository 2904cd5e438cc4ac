"""The encoder of an index: documents get their vectors from it, and so do queries."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop._arrays import Singles
from rankloop.search.field import Field

if TYPE_CHECKING:
    from rankloop.search.encoders import OnnxEncoder
    from rankloop.search.encoders.vector_cache import VectorCache

__all__ = ["AT_ONCE", "Embedder", "Embedding"]

AT_ONCE = 512  # documents that are read ahead and encoded together


@dataclass(frozen=True)
class Embedding:
    """What a manifest keeps: the encoder's name, the hash of its weights, and the vector field it fills."""

    name: str
    fingerprint: str
    field: str

    @classmethod
    def declared(
        cls, name: str | None, fields: Mapping[str, str | Field]
    ) -> tuple["Embedding | None", Mapping[str, str | Field]]:
        """The embedding of a new index, and its fields with the dimension of the one called "vector"."""
        if name is None:
            return None, fields
        from rankloop.search.encoders import open_encoder

        given = [one for one, kind in fields.items() if kind == "vector"]
        if len(given) != 1:
            raise ValueError(
                "an index with an encoder has one field of kind 'vector', as in fields={'title': 'text', "
                f"'meaning': 'vector'}}, got {given or 'none'}"
            )
        if os.sep in name:
            name = str(Path(name).resolve())  # the index is also opened from other folders
        encoder = open_encoder(name)
        sized = {**fields, given[0]: f"vector:{encoder.dimension}"}
        return cls(name, encoder.fingerprint, given[0]), sized

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


class Embedder:
    """Fills the vector field of documents, and encodes queries; the encoder is opened when it is needed."""

    def __init__(self, made: Embedding, fields: Mapping[str, Field]) -> None:
        self.made = made
        self.texts = [name for name, one in fields.items() if one.kind == "text" and one.source is None]

    @cached_property
    def encoder(self) -> "OnnxEncoder":
        """The encoder, if it is on this machine and the one that the index was made with."""
        from rankloop.search.encoders import open_encoder

        try:
            found = open_encoder(self.made.name)
        except (FileNotFoundError, ValueError) as error:
            raise FileNotFoundError(
                f"the index has vectors of the encoder {self.made.name!r}: {error}; or search by words "
                "alone: retriever(vectors={}), or rankloop search --no-vectors"
            ) from None
        if found.fingerprint != self.made.fingerprint:
            raise ValueError(
                f"the encoder {self.made.name!r} on this machine has other weights than the one that the "
                f"index was made with ({found.fingerprint}, not {self.made.fingerprint}); index again"
            )
        return found

    @cached_property
    def cache(self) -> "VectorCache | None":
        """Vectors of documents on disk, so that the same text is encoded once also in another index."""
        return self.encoder.cache()

    @property
    def fingerprint(self) -> str:
        return self.made.fingerprint

    def __call__(self, text: str) -> Singles:
        """The vector of a query."""
        return self.encoder(text)

    def text(self, document: Mapping[str, Any]) -> str:
        """What is encoded: the texts of the document, in the order of the fields."""
        parts: list[str] = []
        for name in self.texts:
            value = document.get(name)
            parts += [one for one in (value if isinstance(value, list | tuple) else [value]) if one]
        return "\n".join(one for one in parts if isinstance(one, str)).strip()

    def read_ahead(
        self, documents: Iterable[Any], id_field: str, stored: Callable[[str], Mapping[str, Any] | None]
    ) -> Iterator[Any]:
        """The same documents; those that will need a vector are encoded many at a time.

        `stored` gives a document that the index has. The encoder remembers what it made until `completed`
        asks for it.
        """
        waiting = iter(documents)
        while some := list(islice(waiting, AT_ONCE)):
            texts = []
            for given in some:
                if isinstance(given, Mapping) and given.get(id_field) is not None:
                    old = stored(str(given[id_field]))
                    whole = {**(old or {}), **given}
                    if not self._has_vector(whole, given, old) and (text := self.text(whole)):
                        texts.append(text)
            if texts:
                self.encoder.encode(texts, cache=self.cache)
            yield from some

    def completed(
        self, document: Mapping[str, Any], given: Mapping[str, Any], old: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """A document with its vector: the one given, the old one if the text is the same, or a new one."""
        if self._has_vector(document, given, old):
            return document
        text = self.text(document)
        return {**document, self.made.field: self.encoder(text) if text else None}

    def _has_vector(
        self, document: Mapping[str, Any], given: Mapping[str, Any], old: Mapping[str, Any] | None
    ) -> bool:
        field = self.made.field
        if given.get(field) is not None:
            return True
        return old is not None and old.get(field) is not None and self.text(old) == self.text(document)
