"""Text features of candidates, field by field."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankloop._arrays import Floats, Ints, Ints32
from rankloop.search.features.kernels import (
    LOGARITHMIC,
    NEAR,
    PROXIMITY,
    STATISTICS,
    norms,
    proximity,
    statistics,
)
from rankloop.search.features.query_terms import WHOLE, QueryTerms, whole_fields
from rankloop.search.features.whole_document import end_to_end
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Snapshot

__all__ = ["TEXT", "InField", "proximities", "text_statistics"]

TEXT = (*STATISTICS, *PROXIMITY)
_OF_ALL_TERMS = ("cosine", "lm_absolute")  # they need all terms of each document


@dataclass(frozen=True, eq=False)
class InField:
    """Documents of a segment, and the terms of a query in one text field, or in all of them (`WHOLE`)."""

    snapshot: Snapshot
    segment: Segment
    documents: Ints
    field: str
    words: QueryTerms

    @cached_property
    def fields(self) -> tuple[int, ...]:
        """The numbers of the fields."""
        if self.field == WHOLE:
            return whole_fields(self.snapshot)
        return (self.snapshot.text_fields.index(self.field),)

    @cached_property
    def terms(self) -> Ints:
        """The numbers of the terms in the segment."""
        return np.array([self.segment.term(term) for term in self.words.terms], np.int64)

    @cached_property
    def lengths(self) -> Ints:
        """How many words each document has in the fields."""
        fields = self.fields
        length: Ints = self.segment.lengths[fields[0]][self.documents].astype(np.int64)
        for one in fields[1:]:
            length += self.segment.lengths[one][self.documents]
        return length

    def frequencies(self, order: Ints | None = None) -> Ints32:
        """How often each term is in each document; `order` sorts the documents, where it is known."""
        terms, fields, documents = self.terms, self.fields, self.documents
        of_field, of_term = np.repeat(fields, len(terms)), np.tile(terms, len(fields))
        tf = self.segment.frequencies(of_field, of_term, documents, order)
        if len(fields) > 1:
            tf = np.asarray(tf.reshape(len(documents), len(fields), len(terms)).sum(1), np.int32)
        return tf


def text_statistics(here: InField, tf: Ints32, wanted: Collection[str] = STATISTICS) -> Floats:
    """`STATISTICS` of documents of a segment: one row each; only those `wanted` are sure to be filled in."""
    documents, words = here.documents, here.words
    if any(name in wanted for name in _OF_ALL_TERMS):
        norm, unique = _norms(here)
    else:
        norm, unique = np.zeros(len(documents)), np.ones(len(documents), np.int64)
    logs = any(name in wanted for name in LOGARITHMIC)
    out = np.empty((len(documents), len(STATISTICS)))
    length = here.lengths
    statistics(
        tf, length, unique, norm, words.times, words.idf, words.probability, words.average_length, logs, out
    )  # fmt: skip
    return out


def proximities(here: InField, tf: Ints32, wanted: Collection[str] = PROXIMITY) -> Floats:
    """`PROXIMITY` of documents of a segment in one field, or in all of them end to end: one row each.

    Only those `wanted` are sure to be filled in: a document without the terms they need is not looked at.
    """
    segment, words, fields = here.segment, here.words, here.fields
    out = np.zeros((len(here.documents), len(PROXIMITY)))
    out[:, -1] = here.lengths  # `first` of a document without any term
    needed = 1 if {"window", "first"} & set(wanted) else len(words.terms) if set(wanted) == {"phrase"} else 2
    has = tf.any(axis=1) if needed <= 1 else np.count_nonzero(tf, axis=1) >= needed
    some = np.flatnonzero(has)
    if not len(some):
        return out
    documents, length = here.documents[some], out[some, -1].astype(np.int64)
    segment.touch_forward(documents)
    terms = here.terms
    by_term = np.argsort(terms, kind="stable").astype(np.int64)
    forward = segment.forward
    rows = fields[0] * segment.documents + documents
    if here.field == WHOLE:
        forward = end_to_end(forward, segment.documents, np.array(fields), documents, terms, by_term, NEAR)
        rows = np.arange(len(documents))
        for array in forward:
            array.flags.writeable = False  # as mapped arrays are, or the kernel is compiled a second time
    near = out if len(some) == len(out) else np.empty((len(some), len(PROXIMITY)))
    proximity(forward, rows, length, terms, by_term, words.sequence, words.places, near)
    if near is not out:
        out[some] = near
    return out


def _norms(here: InField) -> tuple[Floats, Ints]:
    """Vector norms and numbers of terms, computed once for each document that is ever a candidate."""
    cache, segment, documents, fields = here.snapshot.cache, here.segment, here.documents, here.fields
    key = ("norms", segment.name, fields)
    if key not in cache:
        cache[key] = (np.full(segment.documents, -1.0), np.zeros(segment.documents, np.int64))
    norm, unique = cache[key]
    segment.touch_forward(documents)
    norms(segment.forward, segment.documents, np.array(fields, np.int64), documents, norm, unique)
    return norm[documents], unique[documents]
