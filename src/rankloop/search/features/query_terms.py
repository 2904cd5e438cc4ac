"""The terms of a query in one text field, or in the whole document, with their statistics."""

from typing import NamedTuple

import numpy as np

from rankloop._arrays import Floats, Ints
from rankloop.search.bm25 import idf
from rankloop.search.index.snapshot import Snapshot

__all__ = ["WHOLE", "QueryTerms", "query_terms", "whole_fields"]

WHOLE = "*"  # the whole document, in place of a field


class QueryTerms(NamedTuple):
    """The terms of a query, each once, with statistics.

    `times` is how often the query has a term, `probability` the share of the collection's words that are this
    term. `sequence` holds the query word by word as indices into `terms`, `places` the position of each word.
    """

    terms: tuple[str, ...]
    times: Floats
    df: Ints
    idf: Floats
    probability: Floats
    sequence: Ints
    places: Ints
    average_length: float


def query_terms(text: str, snapshot: Snapshot, field: str) -> QueryTerms:
    """The terms of a text by the analyser and the statistics of a field (`*`: of the whole document)."""
    fields = whole_fields(snapshot) if field == WHOLE else (snapshot.text_fields.index(field),)
    analyser = snapshot.manifest.analyser if field == WHOLE else snapshot.analyser(field)
    number: dict[str, int] = {}
    sequence: list[int] = []
    places: list[int] = []
    for place, word in enumerate(analyser.words(text)):
        for term in analyser.terms_of(word):
            sequence.append(number.setdefault(term, len(number)))
            places.append(place)
    times = np.bincount(np.array(sequence, np.int64), minlength=len(number)).astype(np.float64)
    if len(fields) == 1:
        df = [snapshot.df(fields[0], term) for term in number]
    else:
        df = [snapshot.any_df(fields, term) for term in number]
    average = float(sum(snapshot.average_lengths[one] for one in fields))
    words = max(average * snapshot.n_documents, 1.0)
    counts = [max(sum(snapshot.total(one, term) for one in fields), 0.5) for term in number]
    return QueryTerms(
        terms=tuple(number),
        times=times,
        df=np.array(df, np.int64),
        idf=np.array([idf(snapshot.n_documents, one) for one in df]),
        probability=np.array(counts) / words,
        sequence=np.array(sequence, np.int64),
        places=np.array(places, np.int64),
        average_length=average,
    )


def whole_fields(snapshot: Snapshot) -> tuple[int, ...]:
    """The fields that make up the whole document: those with the index's analyser that copy no other."""
    return tuple(
        at
        for at, name in enumerate(snapshot.text_fields)
        if snapshot.fields[name].source is None and snapshot.analyser(name) == snapshot.manifest.analyser
    )
