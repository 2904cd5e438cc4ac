"""Quepid's JSON: ratings of a case, and books with several raters."""

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

from rankloop._json import parse_json
from rankloop.data.files.records import HALF, Faults, is_writable, may_hold_halves
from rankloop.data.judging.tables import number
from rankloop.data.judgment import Judgment

__all__ = ["parsed", "part", "read_book", "read_ratings", "write_book", "write_ratings"]

Read = tuple[Iterable[Judgment], str, Mapping[str, Any]]
_FLAGS = ("unrateable", "judge_later")
_PAIR = ("document_fields", "information_need", "notes", "options")


def parsed(text: str, faults: Faults) -> dict[str, Any]:
    """The object in a text."""
    try:
        whole = parse_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{faults.source} is not JSON: {error}; export it again") from None
    if not isinstance(whole, dict):
        raise ValueError(f"{faults.source}: wanted a JSON object, got {text.lstrip()[:40]!r}")
    if may_hold_halves(text) and not is_writable(whole):
        raise ValueError(f"{faults.source}: {HALF}; correct it")
    return whole


def part(whole: Mapping[str, Any], name: str, kind: type, faults: Faults) -> Any:
    """A part of an object that must be there."""
    if not isinstance(whole.get(name), kind):
        raise ValueError(f"{faults.source}: wanted {name!r}, got an object with {', '.join(whole)}")
    return whole[name]


def read_ratings(text: str, faults: Faults) -> Read:
    """`{"queries": [{"query": "red", "ratings": {"17": 3}}]}`."""
    whole = parsed(text, faults)
    rows = []
    for at, one in enumerate(part(whole, "queries", list, faults), 1):
        if not isinstance(one, Mapping) or not one.get("query"):
            faults(at, "query", f"wanted a query with ratings, got {str(one)[:60]!r}", "correct it")
            continue
        ratings = one.get("ratings") or {}
        if not isinstance(ratings, Mapping):
            faults(at, "ratings", f"wanted an object, got {ratings!r}", "correct it")
            continue
        if not ratings:
            rows.append(Judgment(str(one["query"]), ""))
        for document, given in ratings.items():
            rating = number(given, at, f"rating of {document!r}", faults)
            if rating is not None:
                rows.append(Judgment(str(one["query"]), str(document), rating))
    return rows, str(whole.get("name") or ""), {}


def write_ratings(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    queries: dict[str, dict[str, float]] = {}
    for row in rows:
        ratings = queries.setdefault(row.query, {})
        if row.rated:
            ratings[row.docid] = _rating(row.rating)
    listed = [{"query": query, "ratings": ratings} for query, ratings in queries.items()]
    head = {"name": name} if name else {}
    return json.dumps({**head, "queries": listed}, ensure_ascii=False, indent=1) + "\n"


def read_book(text: str, faults: Faults) -> Read:
    """A book: pairs of query and document, each with the judgements of several people."""
    whole = parsed(text, faults)
    rows = []
    for at, pair in enumerate(part(whole, "query_doc_pairs", list, faults), 1):
        if not isinstance(pair, Mapping) or not pair.get("query_text") or pair.get("doc_id") in (None, ""):
            faults(
                at, "query_doc_pairs", f"wanted query_text and doc_id, got {str(pair)[:60]!r}", "correct it"
            )
            continue
        fields = pair.get("document_fields")
        title = str(fields.get("title") or "") if isinstance(fields, Mapping) else ""
        shared = {key: pair[key] for key in _PAIR if pair.get(key) not in (None, "", {}, [])}
        base = Judgment(
            str(pair["query_text"]),
            str(pair["doc_id"]),
            position=pair["position"] if isinstance(pair.get("position"), int) else 0,
            title=title,
            details=shared,
        )
        judged = pair.get("judgements") or []
        if not isinstance(judged, list) or not all(isinstance(one, Mapping) for one in judged):
            faults(at, "judgements", f"wanted a list of objects, got {str(judged)[:60]!r}", "correct it")
            continue
        if not judged:
            rows.append(base)
        for one in judged:
            rating: float | None = nan
            if one.get("rating") is not None:
                rating = number(one["rating"], at, "rating", faults)
            if rating is not None:
                flags = {key: True for key in _FLAGS if one.get(key)}
                rows.append(
                    base._replace(
                        rating=rating,
                        rater=str(one.get("user_email") or ""),
                        reason=str(one.get("explanation") or ""),
                        details={**shared, **flags},
                    )
                )
    kept = {key: value for key, value in whole.items() if key not in ("name", "query_doc_pairs")}
    return rows, str(whole.get("name") or ""), kept


def write_book(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if not row.docid:
            continue
        pair = pairs.setdefault((row.query, row.docid), _pair(row))
        flags = {key: bool(row.details.get(key)) for key in _FLAGS}
        if row.rated or row.rater or row.reason or any(flags.values()):
            pair["judgements"].append(
                {
                    "rating": None if isnan(row.rating) else _rating(row.rating),
                    **flags,
                    "user_email": row.rater,
                    "explanation": row.reason,
                }
            )
    kept = {key: value for key, value in details.items() if key in _BOOK}
    whole = {"name": name or "rankloop", **kept, "query_doc_pairs": list(pairs.values())}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


_BOOK = ("show_rank", "support_implicit_judgements", "scale", "scale_with_labels")


def _pair(row: Judgment) -> dict[str, Any]:
    made: dict[str, Any] = {"query_text": row.query, "doc_id": row.docid, "position": row.position or None}
    made |= {key: row.details[key] for key in _PAIR if key in row.details}
    if row.title and "title" not in made.get("document_fields", {}):
        made["document_fields"] = {**made.get("document_fields", {}), "title": row.title}
    return {**made, "judgements": []}


def _rating(rating: float) -> float:
    return int(rating) if rating == int(rating) else rating
