"""Events of Metarank, in and out."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isinf, nan
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._atomic import replacing
from rankloop.clicks.click_log import ClickLog
from rankloop.data.files.records import Faults, Records, json_records

__all__ = ["read_metarank", "write_metarank"]

_EVENTS = ("interaction", "item", "ranking", "user")
_CLICK = ("click",)
_CONVERSION = ("purchase", "cart", "add_to_cart", "conversion")


def read_metarank(
    events: Records,
    *,
    click: Sequence[str] = _CLICK,
    conversion: Sequence[str] = _CONVERSION,
    query: str = "query",
    on_error: str = "raise",
    skipped: "Counter[str] | None" = None,
) -> ClickLog:
    """Read Metarank's events: a ranking event is a page in the order of its items, interactions are clicks.

    JSON lines (streamed), a JSON array, or dictionaries. The query is the field named `query` of the ranking
    ("" where it has none); user (or session) and time are kept. Item and user events are left out, as are
    interactions with an unknown ranking or document, and counted in `skipped`.

    >>> fields = [{"name": "query", "value": "cat"}]
    >>> shown = {"event": "ranking", "id": "r1", "fields": fields, "items": [{"id": "i3"}, {"id": "i1"}]}
    >>> done = {"event": "interaction", "id": "x", "ranking": "r1", "type": "click", "item": "i1"}
    >>> read_metarank([shown, done]).click
    array([0, 1], dtype=int8)
    """
    pages: dict[str, tuple[str, str, float, list[str]]] = {}
    actions: list[tuple[str, str, str]] = []
    with Faults(events, on_error, skipped).summed_up() as faults:
        for number, record in json_records(events, faults):
            kind = record.get("event")
            if kind not in _EVENTS:
                faults(number, "event", f"wanted one of {', '.join(_EVENTS)}, got {kind!r}", "correct it")
            elif kind == "ranking":
                page = _page(number, record, query, faults)
                if page is not None:
                    pages[str(record["id"])] = page
            elif kind == "interaction":
                if not record.get("ranking"):
                    faults.absent("interactions without ranking")
                elif not record.get("item") or not record.get("type"):
                    faults(number, "item", "an interaction has an item and a type", "correct or drop it")
                else:
                    actions.append((str(record["ranking"]), str(record["item"]), str(record["type"])))
            else:
                faults.absent(f"{kind} events")
        done: dict[tuple[str, str], set[str]] = {}
        for name, item, action in actions:
            if name not in pages or item not in pages[name][3]:
                faults.absent("interactions with an unknown ranking or item")
            else:
                done.setdefault((name, item), set()).add(action)
    if not pages:
        raise ValueError(f"{faults.source} hold no ranking event, so no page is known; log rankings as well")
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for name, (text, user, when, items) in pages.items():
        for rank, item in enumerate(items, 1):
            types = done.get((name, item), set())
            bought = not types.isdisjoint(conversion)
            clicked = bought or not types.isdisjoint(click)
            row = (name, text, item, rank, int(clicked), float(bought), user, when)
            for column, value in zip(_COLUMNS, row, strict=True):
                columns[column].append(value)
    if not any(columns["user"]):
        del columns["user"]
    if np.isnan(columns["timestamp"]).all():
        del columns["timestamp"]
    return ClickLog(**columns)


_COLUMNS = ("session", "query", "document", "position", "click", "conversion", "user", "timestamp")


def write_metarank(log: ClickLog, path: str | Path) -> None:
    """One ranking event per page, and an interaction event per click and conversion, as JSON lines.

    Metarank has no positions apart from the order of the items: pages with gaps are an error.
    """
    whole = log.position == np.arange(len(log)) - np.repeat(log.offsets[:-1], log.lengths) + 1
    if not whole.all():
        page = int(log.row_page[int((~whole).argmax())])
        raise ValueError(
            f"the page of session {log.sessions[page]} lacks some positions, and Metarank has no gaps; "
            "select whole pages, or use write_ubi"
        )
    sessions = [str(one) for one in log.sessions.tolist()]
    if len(set(sessions)) < len(sessions):
        sessions = [f"{one}/{page}" for page, one in enumerate(sessions, 1)]
    with replacing(path) as beside, beside.open("w", encoding="utf-8") as file:
        for page, name in enumerate(sessions):
            for event in _events(log, page, name):
                file.write(json.dumps(event, ensure_ascii=False) + "\n")


def _events(log: ClickLog, page: int, name: str) -> list[dict[str, Any]]:
    start, stop = int(log.offsets[page]), int(log.offsets[page + 1])
    when = nan if log.timestamp is None else float(log.timestamp[start])
    user = log.page_user
    shared = {
        "timestamp": str(0 if when != when else round(when * 1000)),
        "user": "" if user is None else str(user.table[user.code[page]]),
        "session": name,
    }
    items = [str(one) for one in log.documents[log.row_document.code[start:stop]].tolist()]
    text = str(log.queries[log.page_query.code[page]])
    made: list[dict[str, Any]] = [
        {
            "event": "ranking",
            "id": name,
            **shared,
            "fields": [{"name": "query", "value": text}],
            "items": [{"id": item} for item in items],
        }
    ]
    for row, item in enumerate(items, start):
        types = ["click"] if log.click[row] else []
        types += ["purchase"] if log.conversion is not None and log.conversion[row] else []
        made += [
            {
                "event": "interaction",
                "id": f"{name}/{row - start + 1}/{kind}",
                "ranking": name,
                **shared,
                "type": kind,
                "item": item,
                "fields": [],
            }
            for kind in types
        ]
    return made


def _page(
    number: int, record: Mapping[str, Any], query: str, faults: Faults
) -> tuple[str, str, float, list[str]] | None:
    """Query, user, time and items of a ranking."""
    if not record.get("id"):
        faults(number, "id", "every ranking has an id", "add it, or drop the event")
        return None
    items = record.get("items")
    if not isinstance(items, list) or not all(isinstance(one, Mapping) and one.get("id") for one in items):
        faults(number, "items", f"wanted items with ids, got {str(items)[:60]!r}", "correct or drop it")
        return None
    fields = record.get("fields") or []
    if not isinstance(fields, list) or not all(isinstance(one, Mapping) for one in fields):
        faults(number, "fields", f"wanted names and values, got {str(fields)[:60]!r}", "correct or drop it")
        return None
    try:
        when = nan if record.get("timestamp") is None else float(record["timestamp"]) / 1000
        if isinf(when):
            raise ValueError
    except (TypeError, ValueError):
        problem = f"wanted milliseconds since 1970, got {record['timestamp']!r}"
        faults(number, "timestamp", problem, "correct or drop it")
        return None
    text = next((one.get("value") for one in fields if one.get("name") == query), "")
    person = str(record.get("user") or record.get("session") or "")
    return str(text), person, when, list(dict.fromkeys(str(one["id"]) for one in items))
