"""A query against an index: the terms that score, and the documents that may be shown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankloop._arrays import Bytes
from rankloop._names import one_of
from rankloop.search.bm25 import Leaf
from rankloop.search.field import seconds
from rankloop.search.index.expand import Expander
from rankloop.search.index.phrase import with_phrase
from rankloop.search.index.segment import Segment, name_of_field
from rankloop.search.index.snapshot import Snapshot
from rankloop.search.text.analyser import Analyser
from rankloop.search.text.query import Clause

__all__ = ["Filters", "allowed_documents", "leaves_of", "matching_documents", "with_values"]


Filters = Mapping[str, Any]
AT_ONCE = 1 << 21  # postings between two looks at the clock


def leaves_of(expander: Expander, fields: Iterable[int], typos: str) -> list[Leaf]:
    """The terms that score, in the searched fields and in those that a clause names.

    Words are analysed by the field's analyser. A prefix or a misspelt word expands to several terms, which
    share one document frequency, so that a rare one among them does not score higher.
    """
    query, snapshot = expander.query, expander.snapshot
    leaves: list[Leaf] = []
    everywhere, wanted = set(fields), [clause for clause in query.clauses if not clause.excluded]
    analysed: dict[tuple[Analyser, str], Counter[str]] = {}  # fields mostly share an analyser
    for field, name in enumerate(snapshot.text_fields):
        searched = field in everywhere
        mine = [c for c in wanted if c.field == name or (c.field is None and searched)]
        analyser = snapshot.analyser(name)
        text = " ".join([c.text for c in mine if c.kind in ("word", "phrase")])
        if (analyser, text) not in analysed:
            analysed[analyser, text] = Counter(analyser.terms(text))
        for term, times in analysed[analyser, text].items():
            leaves += _word(expander, field, term, float(times), typos)
        prefixes = [c.text for c in mine if c.kind == "prefix"]
        for text, times in Counter(prefixes).items() if prefixes else ():
            expanded = expander.prefix(field, analyser.prefix(text))
            together = min(sum(expanded.values()), snapshot.n_documents)
            leaves += [Leaf(field, term, float(times), together) for term in expanded]
    return leaves


def _word(expander: Expander, field: int, term: str, times: float, typos: str) -> list[Leaf]:
    snapshot = expander.snapshot
    if typos == "never" or (typos == "missing" and snapshot.df(field, term)):
        return [Leaf(field, term, times)]
    near = expander.near(field, term)
    together = min(sum(df for _, df in near.values()), snapshot.n_documents)
    spelt = [
        Leaf(field, other, times * 0.5**edits, together)
        for other, (edits, _) in near.items()
        if other != term
    ]
    return [Leaf(field, term, times), *spelt]


def allowed_documents(
    expander: Expander, fields: Iterable[int], filters: Filters, match: str, typos: str
) -> list[Bytes]:
    """Per segment which documents may be shown: live, not excluded, with everything that is required."""
    query, snapshot = expander.query, expander.snapshot
    searched = tuple(fields)
    needed = dict.fromkeys(
        c for c in query.clauses if c.excluded or c.required or match == "all" or c.kind == "phrase"
    )
    extra = [(name, wanted) for name, wanted in filters.items()]
    allowed = []
    for segment in snapshot.segments:
        if not needed and not extra:
            allowed.append(segment.live)
            continue
        may = segment.live.copy()
        known: dict[Clause, Bytes | None] = {}
        for clause in needed:
            query.check_time()
            same = replace(clause, excluded=False, required=False)
            if same not in known:
                known[same] = _has(same, segment, expander, searched, typos)
            has = known[same]
            if has is not None:
                may &= ~has if clause.excluded else has
        for name, wanted in extra:
            may &= _filtered(segment, snapshot, name, wanted)
        may = (may & 1).astype(np.uint8)
        may.flags.writeable = False
        allowed.append(may)
    return allowed


def matching_documents(expander: Expander, leaves: Sequence[Leaf], allowed: list[Bytes]) -> list[Bytes]:
    """Per segment the allowed documents that have any of the terms."""
    snapshot = expander.snapshot
    matched = []
    for segment, may in zip(snapshot.segments, allowed, strict=True):
        has = np.zeros(segment.documents, np.uint8)
        for leaf in leaves:
            expander.query.check_time()
            term = segment.term(leaf.term)
            if term >= 0:
                has[segment.postings(leaf.field, term)] = 1
        matched.append(has & may)
    return matched


def _has(
    clause: Clause, segment: Segment, expander: Expander, searched: tuple[int, ...], typos: str
) -> Bytes | None:
    """Which documents of a segment satisfy a clause; None if the clause has only stop words."""
    if clause.kind == "value":
        return with_values(segment, str(clause.field), [clause.text])
    if clause.kind == "range":
        return _between(segment, str(clause.field), clause.low, clause.high)
    snapshot = expander.snapshot
    names = snapshot.text_fields
    fields = searched if clause.field is None else (names.index(clause.field),)
    has, constrains = np.zeros(segment.documents, np.uint8), False
    for field in fields:
        analyser = snapshot.analyser(names[field])
        if clause.kind == "phrase":
            wanted, gaps = [], []
            for at, word in enumerate(analyser.words(clause.text)):
                terms = analyser.terms_of(word)
                wanted += [segment.term(term) for term in terms]
                gaps += [at] * len(terms)
            constrains |= bool(wanted)
            if wanted and min(wanted) >= 0:
                check = expander.query.check_time
                has |= with_phrase(segment, field, np.array(wanted), np.array(gaps), check)
            continue
        if clause.kind == "prefix":
            constrains = True
            numbers = segment.terms_with_prefix(analyser.prefix(clause.text))
            docs = segment.postings(field, numbers[0], numbers[-1]) if numbers else ()
            for first in range(0, len(docs), AT_ONCE):
                has[docs[first : first + AT_ONCE]] = 1
                expander.query.check_time()
            continue
        terms = tuple(dict.fromkeys(analyser.terms(clause.text)))
        constrains |= bool(terms)
        every = np.ones(segment.documents, np.uint8) if terms else has
        for term in terms:
            spelt = {leaf.term for leaf in _word(expander, field, term, 1.0, typos)}
            one = np.zeros(segment.documents, np.uint8)
            for other in spelt:
                number = segment.term(other)
                if number >= 0:
                    one[segment.postings(field, number)] = 1
            every &= one
            expander.query.check_time()
        has |= every
    return has if constrains else None


def _filtered(segment: Segment, snapshot: Snapshot, name: str, wanted: Any) -> Bytes:
    """A filter from code: one value or several, a number, or a pair (low, high) in which None is open."""
    field = snapshot.fields[one_of("field", name, snapshot.fields)]
    if field.kind == "keyword":
        values = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
        return with_values(segment, name, field.convert(list(values)))
    if field.kind not in ("number", "date"):
        raise ValueError(f"filters are on keyword, number and date fields; {name!r} is a {field.kind} field")
    low, high = wanted if isinstance(wanted, tuple | list) and len(wanted) == 2 else (wanted, wanted)
    number = seconds if field.kind == "date" else float
    return _between(
        segment, name, -np.inf if low is None else number(low), np.inf if high is None else number(high)
    )


def with_values(segment: Segment, field: str, values: list[str]) -> Bytes:
    """Which documents of a segment have one of these values in a keyword field, whatever its case."""
    has = np.zeros(segment.documents, np.uint8)
    numbers = segment.keyword_numbers(field)
    name = name_of_field("keyword", field)
    starts, docs = segment.arrays[f"{name}.starts"], segment.arrays[f"{name}.docs"]
    for value in values:
        for at in numbers.get(value.casefold(), ()):
            has[docs[starts[at] : starts[at + 1]]] = 1
    return has


def _between(segment: Segment, field: str, low: float, high: float) -> Bytes:
    values = segment.arrays[name_of_field("number", field)]
    return ((values >= low) & (values <= high)).astype(np.uint8)
