"""Judgments of OpenSearch's Search Relevance Workbench."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Any

from rankloop.data.files.records import Faults
from rankloop.data.judging.quepid import parsed, part
from rankloop.data.judging.tables import number
from rankloop.data.judgment import Judgment

__all__ = ["read", "write"]


def read(text: str, faults: Faults) -> tuple[Iterable[Judgment], str, Mapping[str, Any]]:
    """`{"name", "type", "judgmentRatings": [{"query", "ratings": [{"docId", "rating"}]}]}`."""
    whole = parsed(text, faults)
    whole = whole.get("_source", whole)
    rows = []
    for at, one in enumerate(part(whole, "judgmentRatings", list, faults), 1):
        if not isinstance(one, Mapping) or not one.get("query") or not isinstance(one.get("ratings"), list):
            faults(at, "judgmentRatings", f"wanted query and ratings, got {str(one)[:60]!r}", "correct it")
            continue
        for each in one["ratings"]:
            if not isinstance(each, Mapping) or each.get("docId") in (None, ""):
                faults(at, "ratings", f"wanted docId and rating, got {str(each)[:60]!r}", "correct it")
                continue
            rating = number(each.get("rating"), at, "rating", faults)
            if rating is not None:
                rows.append(Judgment(str(one["query"]), str(each["docId"]), rating))
    kept = {key: value for key, value in whole.items() if key not in ("name", "judgmentRatings")}
    return rows, str(whole.get("name") or ""), kept


def write(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    """The body of `PUT _plugins/_search_relevance/judgments`; ratings are texts there."""
    queries: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row.rated:
            queries.setdefault(row.query, []).append({"docId": row.docid, "rating": _text(row.rating)})
    listed = [{"query": query, "ratings": ratings} for query, ratings in queries.items()]
    head = {"name": name or "rankloop", "type": "IMPORT_JUDGMENT"}
    head |= {key: details[key] for key in ("description",) if key in details}
    return json.dumps({**head, "judgmentRatings": listed}, ensure_ascii=False, indent=1) + "\n"


def _text(rating: float) -> str:
    assert not isnan(rating)
    short = f"{rating:.3f}"
    return short if float(short) == rating else repr(rating)
