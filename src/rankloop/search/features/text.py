"""Text features of candidates, field by field."""

from collections.abc import Sequence

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.search.features.kernels import NEAR, PROXIMITY, STATISTICS, norms, proximity, statistics
from rankloop.search.features.query_terms import WHOLE, QueryTerms, whole_fields
from rankloop.search.features.whole_document import end_to_end
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.index.top import term_frequencies

__all__ = ["OF_ALL_TERMS", "TEXT", "proximities", "text_statistics"]

TEXT = (*STATISTICS, *PROXIMITY)
OF_ALL_TERMS = tuple(STATISTICS.index(name) for name in ("cosine", "lm_absolute"))

Block = Floats


def text_statistics(
    snapshot: Snapshot,
    segment: Segment,
    documents: Ints,
    field: str,
    words: QueryTerms,
    *,
    whole: bool = True,
) -> Block:
    """`STATISTICS` of documents of a segment: one row each.

    Without `whole`, those in `OF_ALL_TERMS` are left out: they need all terms of each document.
    """
    fields = _fields(snapshot, field)
    terms = _numbers(segment, words.terms)
    tf = np.zeros((len(documents), len(terms)), np.int32)
    for one in fields:
        tf += term_frequencies(
            segment.forward, segment.documents, documents, np.full(len(terms), one, np.int64), terms
        )
    if whole:
        norm, unique = _norms(snapshot, segment, fields, documents)
    else:
        norm, unique = np.zeros(len(documents)), np.ones(len(documents), np.int64)
    out = np.empty((len(documents), len(STATISTICS)))
    length = segment.lengths[np.ix_(np.array(fields), documents)].sum(0, dtype=np.int64)
    statistics(
        tf, length, unique, norm, words.times, words.idf, words.probability, words.average_length, out
    )  # fmt: skip
    return out


def proximities(
    snapshot: Snapshot, segment: Segment, documents: Ints, field: str, words: QueryTerms
) -> Block:
    """`PROXIMITY` of documents of a segment in one field, or in all of them end to end: one row each."""
    fields = np.array(_fields(snapshot, field))
    terms = _numbers(segment, words.terms)
    by_term = np.argsort(terms, kind="stable").astype(np.int64)
    forward = segment.forward
    rows = fields[0] * segment.documents + documents
    if field == WHOLE:
        forward = end_to_end(forward, segment.documents, fields, documents, terms, by_term, NEAR)
        rows = np.arange(len(documents))
        for array in forward:
            array.flags.writeable = False  # as mapped arrays are, or the kernel is compiled a second time
    length = segment.lengths[np.ix_(fields, documents)].sum(0, dtype=np.int64)
    out = np.empty((len(documents), len(PROXIMITY)))
    proximity(forward, rows, length, terms, by_term, words.sequence, words.places, out)
    return out


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
    norms(segment.forward, segment.documents, np.array(fields, np.int64), documents, norm, unique)
    return norm[documents], unique[documents]
