"""Text features of candidates, field by field."""

from collections.abc import Collection, Sequence

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

__all__ = ["TEXT", "frequencies", "proximities", "text_statistics"]

TEXT = (*STATISTICS, *PROXIMITY)
_OF_ALL_TERMS = ("cosine", "lm_absolute")  # they need all terms of each document


def frequencies(
    snapshot: Snapshot, segment: Segment, documents: Ints, field: str, words: QueryTerms
) -> Ints32:
    """How often each term of the query is in each of these documents of a segment."""
    terms, fields = _numbers(segment, words.terms), _fields(snapshot, field)
    tf = segment.frequencies(np.repeat(fields, len(terms)), np.tile(terms, len(fields)), documents)
    if len(fields) > 1:
        tf = np.asarray(tf.reshape(len(documents), len(fields), len(terms)).sum(1), np.int32)
    return tf


def text_statistics(
    snapshot: Snapshot,
    segment: Segment,
    documents: Ints,
    field: str,
    words: QueryTerms,
    tf: Ints32,
    wanted: Collection[str] = STATISTICS,
) -> Floats:
    """`STATISTICS` of documents of a segment: one row each; only those `wanted` are sure to be filled in."""
    fields = _fields(snapshot, field)
    if any(name in wanted for name in _OF_ALL_TERMS):
        norm, unique = _norms(snapshot, segment, fields, documents)
    else:
        norm, unique = np.zeros(len(documents)), np.ones(len(documents), np.int64)
    logs = any(name in wanted for name in LOGARITHMIC)
    out = np.empty((len(documents), len(STATISTICS)))
    length = _lengths(segment, fields, documents)
    statistics(
        tf, length, unique, norm, words.times, words.idf, words.probability, words.average_length, logs, out
    )  # fmt: skip
    return out


def proximities(
    snapshot: Snapshot,
    segment: Segment,
    documents: Ints,
    field: str,
    words: QueryTerms,
    tf: Ints32,
    wanted: Collection[str] = PROXIMITY,
) -> Floats:
    """`PROXIMITY` of documents of a segment in one field, or in all of them end to end: one row each.

    Only those `wanted` are sure to be filled in: a document without the terms they need is not looked at.
    """
    fields = _fields(snapshot, field)
    out = np.zeros((len(documents), len(PROXIMITY)))
    out[:, -1] = _lengths(segment, fields, documents)  # `first` of a document without any term
    needed = 1 if {"window", "first"} & set(wanted) else len(words.terms) if set(wanted) == {"phrase"} else 2
    some = np.flatnonzero(np.count_nonzero(tf, axis=1) >= max(needed, 1))
    if not len(some):
        return out
    documents, length = documents[some], out[some, -1].astype(np.int64)
    segment.touch_forward(documents)
    terms = _numbers(segment, words.terms)
    by_term = np.argsort(terms, kind="stable").astype(np.int64)
    forward = segment.forward
    rows = fields[0] * segment.documents + documents
    if field == WHOLE:
        forward = end_to_end(forward, segment.documents, np.array(fields), documents, terms, by_term, NEAR)
        rows = np.arange(len(documents))
        for array in forward:
            array.flags.writeable = False  # as mapped arrays are, or the kernel is compiled a second time
    near = np.empty((len(some), len(PROXIMITY)))
    proximity(forward, rows, length, terms, by_term, words.sequence, words.places, near)
    out[some] = near
    return out


def _lengths(segment: Segment, fields: tuple[int, ...], documents: Ints) -> Ints:
    """How many words each document has in these fields."""
    length: Ints = segment.lengths[fields[0]][documents].astype(np.int64)
    for one in fields[1:]:
        length += segment.lengths[one][documents]
    return length


def _fields(snapshot: Snapshot, field: str) -> tuple[int, ...]:
    return whole_fields(snapshot) if field == WHOLE else (snapshot.text_fields.index(field),)


def _numbers(segment: Segment, terms: Sequence[str]) -> Ints:
    return np.array([segment.term(term) for term in terms], np.int64)


def _norms(
    snapshot: Snapshot, segment: Segment, fields: tuple[int, ...], documents: Ints
) -> tuple[Floats, Ints]:
    """Vector norms and numbers of terms, computed once for each document that is ever a candidate."""
    key = ("norms", segment.name, fields)
    if key not in snapshot.cache:
        snapshot.cache[key] = (np.full(segment.documents, -1.0), np.zeros(segment.documents, np.int64))
    norm, unique = snapshot.cache[key]
    segment.touch_forward(documents)
    norms(segment.forward, segment.documents, np.array(fields, np.int64), documents, norm, unique)
    return norm[documents], unique[documents]
