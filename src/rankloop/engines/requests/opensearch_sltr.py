"""Requests to OpenSearch's learning-to-rank plugin: feature sets, rescoring, and the features it logs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Singles
from rankloop.data.answers.logged import logged
from rankloop.engines.requests.opensearch_mapping import LENGTH
from rankloop.search import Features
from rankloop.search.index.snapshot import Manifest

__all__ = ["feature_set", "features_request", "logged_request", "read_logged", "rescoring"]

Json = dict[str, Any]

TEXT = "text"  # the parameter that holds a query's words
_LOG = "log"


def feature_set(names: Iterable[str], schema: Manifest, *, lengths: bool) -> list[Json]:
    """Those of the features that the plugin computes, as `PUT _ltr/_featureset/NAME` takes them.

    A document without the words of the query gets 0, as in rankloop, and one without a number has no value.
    """
    return [
        {"name": name, "params": [TEXT], "template_language": "mustache", "template": made}
        for name in names
        if (made := _template(name, schema, lengths)) is not None
    ]


def rescoring(model: str, text: str, window: int, store: str = "") -> Json:
    """The clause `rescore` that puts the first `window` documents of each shard in the order of a model."""
    sltr: Json = {"model": model, "params": {TEXT: text}} | ({"store": store} if store else {})
    query = {"query_weight": 0, "rescore_query_weight": 1, "rescore_query": {"sltr": sltr}}
    return {"window_size": window, "query": query}


def logged_request(model: str, text: str, ids: Sequence[str], store: str = "") -> Json:
    """The request for scores of documents, with the features that they come from."""
    return {
        "size": len(ids),
        "_source": False,
        "query": {"bool": {"filter": [{"ids": {"values": list(ids)}}]}},
        "rescore": rescoring(model, text, max(len(ids), 1), store),
        "ext": {"ltr_log": {"log_specs": [{"name": _LOG, "rescore_index": 0, "missing_as_zero": False}]}},
    }


def features_request(featureset: str, text: str, ids: Sequence[str], store: str = "") -> Json:
    """The request for the features of a set alone; the clause `sltr` is in a filter, where it only logs."""
    sltr: Json = {"_name": _LOG, "featureset": featureset, "params": {TEXT: text}}
    logs = {"name": _LOG, "named_query": _LOG, "missing_as_zero": False}
    return {
        "size": len(ids),
        "_source": False,
        "query": {
            "bool": {
                "filter": [
                    {"ids": {"values": list(ids)}},
                    {"sltr": sltr | ({"store": store} if store else {})},
                ]
            }
        },
        "ext": {"ltr_log": {"log_specs": [logs]}},
    }


def read_logged(answer: Mapping[str, Any], names: Sequence[str]) -> Singles:
    """One row per hit of the answer, nan where a document has no value."""
    rows = [values for _, values, _ in logged(answer, _LOG)]
    return np.array([[one.get(name, np.nan) for name in names] for one in rows], np.float32)


def _template(name: str, schema: Manifest, lengths: bool) -> Json | None:
    """The query whose score is a feature; None if only rankloop computes it."""
    parsed = Features([name]).parsed[0]
    assert parsed is not None  # a name, not a function
    family, field = parsed
    kind = schema.fields[field].kind if field in schema.fields else None
    words = f"{{{{{TEXT}}}}}"
    if family == "bm25" and kind == "text":
        return _or_zero({"match": {field: words}})
    if family == "boolean" and kind == "text":
        every = {"match": {field: {"query": words, "operator": "and"}}}
        return _or_zero({"constant_score": {"filter": every, "boost": 1.0}})
    if family == "phrase" and kind == "text":
        return _or_zero({"constant_score": {"filter": {"match_phrase": {field: words}}, "boost": 1.0}})
    if family == "length" and kind == "text" and lengths:
        return _number(f"{field}.{LENGTH}", {"match_all": {}}, missing=0)
    if family == "value" and kind == "number":
        return _number(str(field), {"exists": {"field": field}})
    return None


def _or_zero(query: Json) -> Json:
    return {"bool": {"filter": [{"match_all": {}}], "should": [query]}}


def _number(field: str, among: Json, **more: Any) -> Json:
    factor = {"field_value_factor": {"field": field, **more}}
    return {"function_score": {"query": among, "functions": [factor], "boost_mode": "replace"}}
