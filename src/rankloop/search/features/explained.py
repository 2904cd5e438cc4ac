"""The features of one document, explained."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankloop.search.candidates import Candidates
from rankloop.search.features.families import MEANING
from rankloop.search.features.kernels import STATISTICS
from rankloop.search.features.query_terms import WHOLE, query_terms
from rankloop.search.features.text import InField

if TYPE_CHECKING:
    from rankloop.search.features.features import Features

__all__ = ["Explained", "explained"]


class Explained(NamedTuple):
    """A feature of one document: its value, what it means, and the terms it is made of."""

    name: str
    value: float
    meaning: str
    terms: tuple[dict[str, float | str], ...] = ()


def explained(features: "Features", found: Candidates, id: Any) -> list[Explained]:
    """Every feature of one document, with its meaning and the terms behind text statistics."""
    shown = Candidates.of(found.query, found.snapshot, [id])
    if not len(shown):
        raise ValueError(f"no document {id!r} in this generation of the index")
    at = np.flatnonzero(found.rows == shown.rows[0])
    shown = found.take(at[:1]) if len(at) else shown
    parts = []
    for name, parsed, declared, value in zip(
        features.names, features.parsed, features.declared, features.matrix(shown)[0].tolist(), strict=True
    ):
        if parsed is None:
            meaning = (getattr(declared, "__doc__", None) or "a feature of your own").strip()
            parts.append(Explained(name, value, meaning.splitlines()[0]))
            continue
        family, field = parsed
        meaning = MEANING[family].format("the whole document" if field == WHOLE else field)
        terms = _terms(shown, str(field)) if family in STATISTICS else ()
        parts.append(Explained(name, value, meaning, terms))
    return parts


def _terms(one: Candidates, field: str) -> tuple[dict[str, float | str], ...]:
    """Each query term with its tf in the document, and its df and idf in the field."""
    words = query_terms(one.query.plain, one.snapshot, field)
    segment, document = one.snapshot.locate(int(one.rows[0]))
    tf = InField(one.snapshot, segment, np.array([document]), field, words).frequencies()[0]
    return tuple(
        {"term": term, "tf": float(tf[at]), "df": float(words.df[at]), "idf": float(words.idf[at])}
        for at, term in enumerate(words.terms)
    )
