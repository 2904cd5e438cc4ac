"""Features that OpenSearch computes without a plugin: scores of named clauses, and doc values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankloop._arrays import Singles
from rankloop.engines.requests.opensearch_mapping import LENGTH
from rankloop.engines.unsupported import Unsupported
from rankloop.search import Features, Query
from rankloop.search.index.snapshot import Manifest

__all__ = ["FeatureRequest", "computes", "feature_request", "read_features"]

Json = dict[str, Any]

SCORED = ("bm25", "covered", "covered_ratio", "boolean", "phrase")  # families that are scores of clauses
_DAY = 86_400.0


class FeatureRequest(NamedTuple):
    """A search whose answer holds features: its body, and how each column is read from it."""

    names: tuple[str, ...]
    families: tuple[tuple[str, str | None], ...]
    body: Json
    query: Query
    terms: Mapping[str, int]  # different words of the query by text field


def computes(names: Iterable[str], schema: Manifest, *, lengths: bool) -> tuple[str, ...]:
    """Those of the features that OpenSearch computes; `lengths` are there if rankloop made the index.

    Features of the query and the person alone are the same everywhere.
    """
    kinds = {name: field.kind for name, field in schema.fields.items()}
    found = []
    for name in names:
        family, field = _parsed(name)
        kind = kinds.get(field or "")
        if (
            (family in SCORED and kind == "text")
            or (family == "value" and kind in ("number", "date"))
            or (family == "age" and kind == "date")
            or (family == "length" and kind == "text" and lengths)
            or family in ("query_length", "user")
        ):
            found.append(name)
    return tuple(found)


def feature_request(
    query: Query, ids: Sequence[str], names: Sequence[str] | None, schema: Manifest, *, lengths: bool
) -> FeatureRequest:
    """The request for features of documents; those that are rankloop's alone are refused by name."""
    if names is None:
        texts = [name for name, field in schema.fields.items() if field.kind == "text"]
        scored = [f"{family}({name})" for name in texts for family in (*SCORED, "length")]
        numbers = [f"value({name})" for name, f in schema.fields.items() if f.kind in ("number", "date")]
        names = computes(["query_length", *scored, *numbers], schema, lengths=lengths)
    known = set(computes(names, schema, lengths=lengths))
    alone = [name for name in names if name not in known]
    if alone:
        raise Unsupported(
            f"{', '.join(alone[:5])}{' and more' if len(alone) > 5 else ''}: only rankloop computes this; "
            "join rl.Features to the engine's retriever, or leave it out"
        )
    families = tuple(_parsed(name) for name in names)
    words = {name: _words(query.plain, name, schema) for name in {str(f) for k, f in families if k in SCORED}}
    clauses = [
        clause
        for name, (family, field) in zip(names, families, strict=True)
        if family in SCORED and words[str(field)]
        for clause in [_clause(name, family, str(field), words[str(field)], query.plain)]
    ]
    values = [str(field) for family, field in families if family in ("value", "age")]
    values += [f"{field}.{LENGTH}" for family, field in families if family == "length"]
    body: Json = {
        "size": len(ids),
        "_source": False,
        "query": {"bool": {"filter": [{"ids": {"values": list(ids)}}], "should": clauses}},
        "docvalue_fields": [
            {"field": name, "format": "epoch_millis"} if _is_date(name, schema) else {"field": name}
            for name in dict.fromkeys(values)
        ],
    }
    return FeatureRequest(tuple(names), families, body, query, {n: len(w) for n, w in words.items()})


def read_features(
    answer: Mapping[str, Any], ids: Sequence[str], asked: FeatureRequest, schema: Manifest
) -> Singles:
    """One row per id, all nan for documents that are not there."""
    rows = {id: at for at, id in enumerate(ids)}
    out = np.full((len(ids), len(asked.names)), np.nan, np.float32)
    for hit in answer["hits"]["hits"]:
        scores, values = hit.get("matched_queries", {}), hit.get("fields", {})
        row = out[rows[hit["_id"]]]
        for at, (name, (family, field)) in enumerate(zip(asked.names, asked.families, strict=True)):
            if family in SCORED:
                score = float(scores.get(name, 0.0))
                terms = asked.terms[str(field)]
                row[at] = score / terms if family == "covered_ratio" and terms else score
            elif family == "query_length":
                row[at] = len(schema.analyser.terms(asked.query.plain))
            elif family == "user":
                row[at] = asked.query.user.get(str(field), np.nan)
            elif family == "length":
                row[at] = sum(values.get(f"{field}.{LENGTH}", [0]))
            else:
                row[at] = _number(values.get(str(field)), family, _is_date(str(field), schema), asked.query)
    return out


def _number(given: Sequence[Any] | None, family: str, date: bool, query: Query) -> float:
    if not given:
        return np.nan
    value = float(given[0]) / 1000 if date else float(given[0])
    if family == "value":
        return value
    if query.at is None:
        raise ValueError("age needs the time of the query: give it, as in replace(query, at=time.time())")
    return (query.at - value) / _DAY


def _clause(name: str, family: str, field: str, words: list[str], text: str) -> Json:
    """The clause whose score is a feature."""
    if family == "bm25":
        return {"match": {field: {"query": text, "_name": name}}}
    if family == "phrase":
        return {"constant_score": {"filter": {"match_phrase": {field: text}}, "boost": 1.0, "_name": name}}
    if family == "boolean":
        every = {"match": {field: {"query": text, "operator": "and"}}}
        return {"constant_score": {"filter": every, "boost": 1.0, "_name": name}}
    each = [{"constant_score": {"filter": {"match": {field: word}}, "boost": 1.0}} for word in words]
    return {"bool": {"should": each, "_name": name}}


def _words(text: str, field: str, schema: Manifest) -> list[str]:
    """One word for each different term of the query in a field."""
    analyser = schema.fields[field].analyser or schema.analyser
    found: dict[tuple[str, ...], str] = {}
    for word in analyser.words(text):
        terms = analyser.terms_of(word)
        if terms:
            found.setdefault(terms, word)
    return list(found.values())


def _is_date(name: str, schema: Manifest) -> bool:
    return name in schema.fields and schema.fields[name].kind == "date"


def _parsed(name: str) -> tuple[str, str | None]:
    """The family of a feature and the field it looks at."""
    parsed = Features([name]).parsed[0]
    assert parsed is not None  # a name, not a function
    return parsed
