"""Documents of another machine as a snapshot: features and snippets work on them as on an index."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.engines.remote.statistics import Statistics, Wanted
from rankloop.search import Field
from rankloop.search.features.query_terms import whole_fields
from rankloop.search.index.arrays import MemoryArrays
from rankloop.search.index.buffer import Buffer
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Manifest, Snapshot

__all__ = ["Fetched", "readable"]


class Fetched(Snapshot):
    """Fetched documents, analysed, with statistics of the whole collection for the words of one query.

    Document frequencies are the engine's. How often a term occurs in all documents, which no engine says, is
    its document frequency times its mean frequency in the fetched documents that have it. Where the engine
    does not know mean lengths, they are those of the fetched documents.
    """

    def __init__(
        self,
        schema: Manifest,
        documents: Iterable[tuple[str, Mapping[str, Any]]],
        text: str,
        about: Statistics,
    ) -> None:
        super().__init__(Path(), replace(schema, parts=(), id_kind="text"))
        buffer = Buffer(schema.fields, schema.analyser)
        for id, given in documents:
            if id not in buffer.at:
                buffer.add(id, readable(given, schema.fields))
        arrays = buffer.arrays()
        for array in arrays.values():
            array.flags.writeable = False  # as mapped arrays are, or kernels are compiled a second time
        none = np.empty(0, np.int32)
        self.segments = [Segment(Path("fetched"), "", none, 0, MemoryArrays(arrays))]
        self.rows = len(buffer)
        self._about = about
        self.ask(text)

    def ask(self, text: str) -> None:
        """Take the statistics of the whole collection for the words of another text."""
        self._word = _words(text, self)
        found = self._about.of(_wanted(self))
        self._counts = found.counts
        own = self.segments[0].total_lengths / max(self.rows, 1)
        lengths = np.array(found.lengths, np.float64)
        self.n_documents = max(found.documents, self.rows)
        self.average_lengths = np.where(np.isnan(lengths), own, lengths)

    def df(self, field: int, term: str) -> int:
        return self._count((field,), term)

    def any_df(self, fields: tuple[int, ...], term: str) -> int:
        return self._count(fields, term)

    def total(self, field: int, term: str) -> int:
        here, often = super().df(field, term), super().total(field, term)
        return round(self.df(field, term) * (often / here if here else 1.0))

    def _count(self, fields: tuple[int, ...], term: str) -> int:
        """The engine's number of documents; what it does not index by this word is counted here."""
        own = super().any_df(fields, term)
        names = tuple(self.text_fields[at] for at in fields)
        word = self._word.get((fields[0], term))
        known = None if word is None else self._counts.get((names, word))
        return own if known is None else min(max(known, own), self.n_documents)


def readable(given: Mapping[str, Any], fields: Mapping[str, Field]) -> dict[str, Any]:
    """A document that others wrote: numbers as text and dates as milliseconds are read, the rest is left out.

    >>> fields = {"price": Field("number"), "at": Field("date")}
    >>> readable({"price": "80", "at": 86_400_000, "title": 7}, fields)
    {'price': 80.0, 'at': '1970-01-02T00:00:00+00:00', 'title': 7}
    """
    kept = dict(given)
    for name, field in fields.items():
        value = given.get(name)
        if value is None or field.source is not None:
            continue
        try:
            field.convert(value)
        except ValueError:
            kept[name] = _repaired(value, field)
    return kept


def _repaired(value: Any, field: Field) -> Any:
    first = value[0] if isinstance(value, list) and value else value
    try:
        if field.kind == "number":
            repaired: Any = float(first)
        elif field.kind == "date":
            moment = datetime.fromtimestamp(float(first) / 1000, UTC) if not isinstance(first, str) else first
            repaired = moment if isinstance(moment, str) else moment.isoformat()
        elif field.kind == "text":
            repaired = [str(one) for one in value] if isinstance(value, list) else str(value)
        else:
            repaired = str(value)
        field.convert(repaired)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return repaired


def _words(text: str, snapshot: Snapshot) -> dict[tuple[int, str], str]:
    """The word of the query behind each term, by the number of the text field."""
    found: dict[tuple[int, str], str] = {}
    for at, name in enumerate(snapshot.text_fields):
        analyser = snapshot.analyser(name)
        for word in analyser.words(text):
            for term in analyser.terms_of(word):
                found.setdefault((at, term), word)
    return found


def _wanted(snapshot: "Fetched") -> list[Wanted]:
    """What to ask for: each word in its field, and in all fields of the whole document."""
    whole = whole_fields(snapshot)
    names = snapshot.text_fields
    wanted: dict[Wanted, None] = {}
    for (at, _), word in snapshot._word.items():
        wanted[((names[at],), word)] = None
        if len(whole) > 1 and at == whole[0]:
            wanted[(tuple(names[one] for one in whole), word)] = None
    return list(wanted)
