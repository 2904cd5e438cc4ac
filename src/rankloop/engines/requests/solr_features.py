"""Features that Solr's learning to rank computes, declared in a feature store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankloop._arrays import Singles
from rankloop.search import Features
from rankloop.search.index.snapshot import Manifest

__all__ = ["STORE", "computes", "feature_store", "read_features"]

STORE = "rankloop"  # the feature store of features declared by rankloop
TEXT = "text"  # the name under which a query's words are given to features
_CLASS = "org.apache.solr.ltr.feature."
_WORDS = "{{!simple qf={field} q.operators=WHITESPACE}}${{{text}}}"


def computes(names: Iterable[str], schema: Manifest) -> tuple[str, ...]:
    """Those of the features that Solr computes; the others are rankloop's alone."""
    return tuple(name for name in names if _declared(name, schema) is not None)


def feature_store(names: Iterable[str], schema: Manifest, store: str = STORE) -> list[dict[str, Any]]:
    """The features as `PUT /schema/feature-store` takes them."""
    return [
        {"store": store, "name": name, **declared}
        for name in names
        if (declared := _declared(name, schema)) is not None
    ]


def read_features(
    documents: Sequence[Mapping[str, Any]], key: str, ids: Sequence[str], names: Sequence[str]
) -> Singles:
    """The field `[features]` of documents: one row per id, nan where there is none."""
    rows = {id: at for at, id in enumerate(ids)}
    columns = {name: at for at, name in enumerate(names)}
    out = np.full((len(ids), len(names)), np.nan, np.float32)
    for one in documents:
        for pair in filter(None, str(one.get("[features]", "")).split(",")):
            name, _, value = pair.rpartition("=")
            if name in columns:
                out[rows[str(one[key])], columns[name]] = float(value)
    return out


def _declared(name: str, schema: Manifest) -> dict[str, Any] | None:
    parsed = Features([name]).parsed[0]
    assert parsed is not None  # a name, not a function
    family, field = parsed
    kind = schema.fields[field].kind if field in schema.fields else None
    words = _WORDS.format(field=field, text=TEXT)
    if family == "bm25" and kind == "text":
        return {"class": f"{_CLASS}SolrFeature", "params": {"q": words}}
    if family == "boolean" and kind == "text":
        every = words.replace("WHITESPACE", "WHITESPACE q.op=AND")
        return {"class": f"{_CLASS}SolrFeature", "params": {"fq": [every]}}
    if family == "phrase" and kind == "text":
        return {"class": f"{_CLASS}SolrFeature", "params": {"fq": [f"{{!field f={field}}}${{{TEXT}}}"]}}
    if family == "value" and kind == "number":
        return {"class": f"{_CLASS}FieldValueFeature", "params": {"field": field}}
    return None
