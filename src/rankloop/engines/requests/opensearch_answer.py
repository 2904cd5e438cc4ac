"""Searches of OpenSearch: the request, and what its answer means."""

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from rankloop._arrays import Floats
from rankloop.engines.answer import Answer
from rankloop.engines.requests.engine_search import EngineSearch

__all__ = ["partial", "read_answer", "search_body", "sent"]

Json = dict[str, Any]
_READ = ("took", "timed_out", "_shards", "hits.total", "hits.hits._id", "hits.hits._score")


def sent(wanted: EngineSearch, key: str | None) -> dict[str, str]:
    """The parameters of a search: what of the answer is read (less is faster on both sides), and by whom.

    A query is always searched in the same copies of shards: others may order equal scores differently.
    """
    more = ("hits.hits.matched_queries",) * wanted.named + ("hits.hits._source",) * wanted.documents
    scores = {"include_named_queries_score": "true"} if wanted.named else {}
    preference = f"rankloop-{crc32(wanted.query.text.encode()):x}"
    if key is not None:
        return {"preference": preference, **scores}  # there is little else to leave out
    return {"preference": preference, "filter_path": ",".join((*_READ, *more)), **scores}


def search_body(query: Json, wanted: EngineSearch, key: str | None) -> Json:
    """The request for the k best documents, of which the engine sends ids, or whole documents.

    Ids come from the column of the field `key` if it is given: `_id` is a stored field, which lies in
    compressed blocks with the whole documents, and to unpack a thousand takes several times as long as the
    search.
    """
    body: Json = {"query": query, "size": wanted.k, "from": wanted.offset, "track_total_hits": True}
    if key is None:
        body["_source"] = wanted.documents
    else:
        body |= {"stored_fields": "_none_", "docvalue_fields": [key]}
    if wanted.sort is not None:
        name, falling = wanted.sort
        order = {"order": "desc" if falling else "asc", "missing": "_last"}
        body |= {"sort": [{name: order}, {"_score": "desc"}], "track_scores": True}
    if wanted.rescore is not None:
        body["rescore"] = wanted.rescore
    return body


def read_answer(
    found: Mapping[str, Any], understood: str, seconds: float, key: str | None = None
) -> Answer | None:
    """An answer of the engine; None if a document has no id in the field `key`."""
    hits: Sequence[Mapping[str, Any]] = found.get("hits", {}).get("hits", [])
    total = found.get("hits", {}).get("total", 0)
    try:
        ids = [hit["_id"] for hit in hits] if key is None else [hit["fields"][key][0] for hit in hits]
    except KeyError:
        return None
    return Answer(
        ids=tuple(ids),
        scores=np.array([hit.get("_score") or 0.0 for hit in hits], np.float64),
        matches=int(total["value"] if isinstance(total, Mapping) else total),
        understood=understood,
        partial=partial(found),
        seconds=seconds,
        clauses=_clauses(hits) if key is None else {},  # beside columns, neither was asked for
        documents=tuple([hit["_source"] for hit in hits if "_source" in hit]) if key is None else (),
    )


def _clauses(hits: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
    """The score of each named clause, nan where it did not match."""
    scored = [hit["matched_queries"] for hit in hits if "matched_queries" in hit]
    if not scored or not isinstance(scored[0], Mapping):
        return {}
    names = dict.fromkeys(name for one in scored for name in one)
    return {
        name: np.array([hit.get("matched_queries", {}).get(name, np.nan) for hit in hits], np.float64)
        for name in names
    }


def partial(found: Mapping[str, Any]) -> str | None:
    """What is missing from an answer, in a sentence; None if nothing is.

    A shard of which no copy is there neither failed nor succeeded.
    """
    shards = found.get("_shards", {})
    total = shards.get("total", 0)
    answered = shards.get("successful", total - shards.get("failed", 0))
    if answered < total:
        return f"{answered} of {total} shards answered"
    return "the time limit was reached before all documents were searched" if found.get("timed_out") else None
