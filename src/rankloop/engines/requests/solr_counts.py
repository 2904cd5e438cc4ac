"""Facets of Solr: what is asked, and what the answer means."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from rankloop.engines.remote.counted import KNOWN, PERCENT, Asked, Spread, SpreadOf, Values, is_whole
from rankloop.engines.requests.solr_query import range_query

__all__ = ["facet_request", "read_facets"]

Json = dict[str, Any]


def facet_request(asked: Sequence[Asked]) -> Json:
    """The facets of a request."""
    found: Json = {}
    for at, one in enumerate(asked):
        if isinstance(one, Values):
            found[f"a{at}"] = {"type": "terms", "field": one.field, "limit": one.k}
        elif isinstance(one, SpreadOf):
            found |= {f"low{at}": f"min({one.field})", f"top{at}": f"max({one.field})"}
            found[f"high{at}"] = f"percentile({one.field},{PERCENT:g})"
            found[f"a{at}"] = {"type": "terms", "field": one.field, "limit": KNOWN + 1}
        else:
            for n, (low, high) in enumerate(one.ends):
                between = range_query(one.field, low, inf if high is None else high, "number")
                found[f"a{at}_{n}"] = {"type": "query", "q": between["lucene"]["query"]}
    return found


def read_facets(asked: Sequence[Asked], found: Mapping[str, Any]) -> list[Any]:
    """One answer for each that was asked; what no document has is left out of Solr's answer."""
    return [_read(one, found, at) for at, one in enumerate(asked)]


def _read(one: Asked, found: Mapping[str, Any], at: int) -> Any:
    buckets: Sequence[Mapping[str, Any]] = found.get(f"a{at}", {}).get("buckets", [])
    if isinstance(one, Values):
        return {str(each["val"]): int(each["count"]) for each in buckets}
    if isinstance(one, SpreadOf):
        if found.get(f"low{at}") is None:
            return None
        low, high, top = (float(found[f"{name}{at}"]) for name in ("low", "high", "top"))
        return Spread(low, high, top, is_whole([each["val"] for each in buckets]))
    return [int(found.get(f"a{at}_{n}", {}).get("count", 0)) for n in range(len(one.ends))]
