"""Aggregations of OpenSearch: what is asked, and what the answer means."""

from collections.abc import Mapping, Sequence
from typing import Any

from rankloop.engines.remote.counted import KNOWN, PERCENT, Asked, Spread, SpreadOf, Values, Within, is_whole

__all__ = ["aggregations", "read_aggregations"]

Json = dict[str, Any]
_BY_COUNT = [{"_count": "desc"}, {"_key": "asc"}]


def aggregations(asked: Sequence[Asked]) -> Json:
    """The aggregations of a request."""
    found: Json = {}
    for at, one in enumerate(asked):
        of = {"field": one.field}
        if isinstance(one, Values):
            found[f"{at}"] = {"terms": {**of, "size": one.k, "order": _BY_COUNT}}
        elif isinstance(one, SpreadOf):
            found[f"{at}"] = {"stats": of}
            found[f"{at}_high"] = {"percentiles": {**of, "percents": [PERCENT], "keyed": False}}
            found[f"{at}_some"] = {"terms": {**of, "size": KNOWN + 1}}
        else:
            found[f"{at}"] = {
                "filters": {"filters": {f"{n}": _between(one, n) for n in range(len(one.ends))}}
            }
    return found


def _between(one: Within, at: int) -> Json:
    low, high = one.ends[at]
    return {"range": {one.field: {"gte": low} | ({} if high is None else {"lte": high})}}


def read_aggregations(asked: Sequence[Asked], found: Mapping[str, Any]) -> list[Any]:
    """One answer for each that was asked."""
    return [_read(one, found, f"{at}") for at, one in enumerate(asked)]


def _read(one: Asked, found: Mapping[str, Any], at: str) -> Any:
    if isinstance(one, Values):
        buckets = found[at]["buckets"]
        return {str(each.get("key_as_string", each["key"])): int(each["doc_count"]) for each in buckets}
    if isinstance(one, Within):
        return [int(found[at]["buckets"][f"{n}"]["doc_count"]) for n in range(len(one.ends))]
    if not found[at]["count"]:
        return None
    numbers = [each["key"] for each in found[f"{at}_some"]["buckets"]]
    high = found[f"{at}_high"]["values"][0]["value"]
    return Spread(found[at]["min"], float(high), found[at]["max"], is_whole(numbers))
