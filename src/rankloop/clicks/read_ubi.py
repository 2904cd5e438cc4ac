"""OpenSearch User Behavior Insights: `ubi_queries` and `ubi_events`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rankloop.clicks.click_log import ClickLog

__all__ = ["read_ubi"]

Events = str | Path | Iterable[Mapping[str, Any]]


def read_ubi(
    queries: Events,
    events: Events,
    *,
    click: tuple[str, ...] = ("click", "product_click", "item_click", "search_result_click"),
    conversion: tuple[str, ...] = ("purchase", "add_to_cart", "conversion"),
) -> ClickLog:
    """Join the queries of UBI (the results shown) with its events (the actions of users).

    Both are JSON lines, a JSON array, a saved search response (`hits.hits[]._source`), or dictionaries. Every
    `query_id` is a page and `user_query` its query; `query_response_hit_ids` has the results in displayed
    order. An event's document is `event_attributes.object.object_id`; actions named in `click` are clicks,
    those named in `conversion` conversions (and clicks). The results of a query without hit ids are those of
    its "impression" events (`event_attributes.position.ordinal`); without these it is left out.

    >>> shown = [{"query_id": "1", "user_query": "tv", "query_response_hit_ids": ["a", "b"]}]
    >>> done = [{"query_id": "1", "action_name": "click", "event_attributes": {"object": {"object_id": "b"}}}]
    >>> log = read_ubi(shown, done)
    >>> log.document, log.click
    (array(['a', 'b'], dtype='<U1'), array([0, 1], dtype=int8))
    """
    pages = {str(_field(query, "query_id")): dict(query) for query in _records(queries)}
    shown: dict[str, dict[str, int]] = {
        page: {str(hit): rank for rank, hit in _ranked(query.get("query_response_hit_ids"))}
        for page, query in pages.items()
    }
    done: dict[tuple[str, str], set[str]] = {}
    for event in _records(events):
        page, action = str(_field(event, "query_id")), str(_field(event, "action_name"))
        details = event.get("event_attributes") or {}
        document = (details.get("object") or {}).get("object_id")
        if page not in pages or document is None:
            continue
        ordinal = (details.get("position") or {}).get("ordinal")
        if action == "impression" and ordinal is not None and not pages[page].get("query_response_hit_ids"):
            shown[page].setdefault(str(document), int(ordinal))
        done.setdefault((page, str(document)), set()).add(action)
    names = ("session", "query", "document", "position", "click", "conversion", "user")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for page, ranks in shown.items():
        query = pages[page]
        for document, rank in ranks.items():
            actions = done.get((page, document), set())
            bought = not actions.isdisjoint(conversion)
            clicked = bought or not actions.isdisjoint(click)
            text, person = str(_field(query, "user_query")), str(query.get("client_id", ""))
            entry = (page, text, document, rank, int(clicked), float(bought), person)
            for name, value in zip(names, entry, strict=True):
                columns[name].append(value)
    if not columns["session"]:
        raise ValueError(
            "no query has the results that were shown; UBI needs query_response_hit_ids in ubi_queries, or "
            'events named "impression" with event_attributes.object.object_id and .position.ordinal'
        )
    return ClickLog(**columns)


def _ranked(hits: Any) -> Iterator[tuple[int, Any]]:
    return enumerate(dict.fromkeys(hits or []), start=1)


def _records(source: Events) -> Iterable[Mapping[str, Any]]:
    if not isinstance(source, str | Path):
        return source
    text = Path(source).read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = [_line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if isinstance(found, dict) and "hits" in found:
        return [hit["_source"] for hit in found["hits"]["hits"]]
    return [found] if isinstance(found, dict) else found


def _line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number} is not JSON: {error}") from None


def _field(record: Mapping[str, Any], name: str) -> Any:
    if name not in record:
        raise ValueError(f"a UBI record has no {name!r}; it has {', '.join(record)}")
    return record[name]
