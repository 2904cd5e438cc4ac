"""Searches of OpenSearch: the request, and what its answer means."""

from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

import numpy as np

from rankloop._arrays import Floats
from rankloop.engines.answer import Answer
from rankloop.search import Query

__all__ = ["partial", "read_answer", "search_body", "sent"]

Json = dict[str, Any]
_ABOUT = ("took", "timed_out", "_shards", "hits.total", "hits.hits._id", "hits.hits._score")


def sent(query: Query, *, named: bool, documents: bool) -> dict[str, str]:
    """The parameters of a search: what of the answer is read (less is faster on both sides), and by whom.

    A query is always searched in the same copies of shards: others may order equal scores differently.
    """
    more = ("hits.hits.matched_queries",) * named + ("hits.hits._source",) * documents
    scores = {"include_named_queries_score": "true"} if named else {}
    preference = f"rankloop-{crc32(query.text.encode()):x}"
    return {"preference": preference, "filter_path": ",".join((*_ABOUT, *more)), **scores}


def search_body(
    query: Json,
    k: int,
    *,
    offset: int = 0,
    sort: tuple[str, bool] | None = None,
    documents: bool = False,
    rescore: Mapping[str, Any] | None = None,
) -> Json:
    """The request for the k best documents, of which the engine sends ids, or whole documents."""
    body: Json = {"query": query, "size": k, "from": offset, "track_total_hits": True, "_source": documents}
    if sort is not None:
        name, falling = sort
        order = {"order": "desc" if falling else "asc", "missing": "_last"}
        body |= {"sort": [{name: order}, {"_score": "desc"}], "track_scores": True}
    if rescore is not None:
        body["rescore"] = rescore
    return body


def read_answer(found: Mapping[str, Any], understood: str, seconds: float) -> Answer:
    """An answer of the engine."""
    hits: Sequence[Mapping[str, Any]] = found.get("hits", {}).get("hits", [])
    scored = [hit["matched_queries"] for hit in hits if "matched_queries" in hit]
    names = dict.fromkeys(name for one in scored for name in one)
    clauses: dict[str, Floats] = {}
    if scored and isinstance(scored[0], Mapping):
        for name in names:
            scores = [hit.get("matched_queries", {}).get(name, np.nan) for hit in hits]
            clauses[name] = np.array(scores, np.float64)
    total = found.get("hits", {}).get("total", 0)
    return Answer(
        ids=tuple([hit["_id"] for hit in hits]),
        scores=np.array([hit.get("_score") or 0.0 for hit in hits], np.float64),
        matches=int(total["value"] if isinstance(total, Mapping) else total),
        understood=understood,
        partial=partial(found),
        seconds=seconds,
        clauses=clauses,
        documents=tuple([hit["_source"] for hit in hits if "_source" in hit]),
    )


def partial(found: Mapping[str, Any]) -> str | None:
    """What is missing from an answer, in a sentence; None if nothing is."""
    shards = found.get("_shards", {})
    lost = shards.get("failed", 0)
    if lost:
        return f"{shards['total'] - lost} of {shards['total']} shards answered"
    return "the time limit was reached before all documents were searched" if found.get("timed_out") else None
