"""Judgments of the Rated Ranking Evaluator."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rankloop.data.files.records import Faults
from rankloop.data.judging.quepid import parsed
from rankloop.data.judging.tables import number
from rankloop.data.judgment import Judgment

__all__ = ["read", "write"]

_QUERY = "$query"
_ABOUT = ("id_field", "index", "template")


def read(text: str, faults: Faults) -> tuple[Iterable[Judgment], str, Mapping[str, Any]]:
    """Documents beside queries, or beside groups of queries that share them, at any depth."""
    whole = parsed(text, faults)
    rows = []
    for at, (group, texts) in enumerate(_groups(whole), 1):
        if not texts:
            faults(at, "placeholders", "the query has no text", f'write {{"{_QUERY}": ...}}')
            continue
        for document, gain in _gains(group["relevant_documents"], at, faults):
            rows += [Judgment(query, document, gain) for query in texts]
    kept = {key: value for key, value in whole.items() if key in _ABOUT}
    return rows, str(whole.get("index") or ""), kept


def write(rows: Sequence[Judgment], name: str, details: Mapping[str, Any]) -> str:
    queries: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row.rated:
            gain = int(row.rating) if row.rating == int(row.rating) else row.rating
            queries.setdefault(row.query, {})[row.docid] = {"gain": gain}
    listed = [
        {"placeholders": {_QUERY: query}, "relevant_documents": documents}
        for query, documents in queries.items()
    ]
    about = {"id_field": "id", "index": name or "rankloop", "template": "query.json"}
    about |= {key: details[key] for key in _ABOUT if key in details}
    return json.dumps({**about, "queries": listed}, ensure_ascii=False, indent=1) + "\n"


def _groups(node: Any) -> Iterator[tuple[Mapping[str, Any], list[str]]]:
    """What has relevant documents, with the texts of its queries."""
    if isinstance(node, Mapping):
        if isinstance(node.get("relevant_documents"), Mapping):
            inner = node.get("queries")
            yield (
                node,
                [text for one in (inner if isinstance(inner, list) else [node]) if (text := _text(one))],
            )
        else:
            for value in node.values():
                yield from _groups(value)
    elif isinstance(node, list):
        for value in node:
            yield from _groups(value)


def _text(query: Any) -> str:
    places = query.get("placeholders") if isinstance(query, Mapping) else None
    if not isinstance(places, Mapping) or not places:
        return ""
    return str(places.get(_QUERY, next(iter(places.values()))))


def _gains(documents: Mapping[str, Any], at: int, faults: Faults) -> Iterator[tuple[str, float]]:
    """`{"17": {"gain": 3}}`, or `{"3": ["17", "4"]}`."""
    for key, value in documents.items():
        if isinstance(value, list):
            gain = number(key, at, "gain", faults)
            if gain is not None:
                yield from ((str(document), gain) for document in value)
            continue
        given = value.get("gain") if isinstance(value, Mapping) else value
        gain = number(given, at, f"gain of {key!r}", faults)
        if gain is not None:
            yield str(key), gain
