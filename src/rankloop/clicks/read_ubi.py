"""User Behavior Insights of OpenSearch, Elasticsearch and Solr: `ubi_queries` and `ubi_events`."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import nan
from typing import Any, NamedTuple

import numpy as np

from rankloop.clicks.click_log import ClickLog
from rankloop.data.files.records import Faults, Records, json_records

__all__ = ["CLICK", "CONVERSION", "SHOWN", "read_ubi"]

CLICK = ("click", "product_click", "item_click", "search_result_click")
CONVERSION = ("purchase", "add_to_cart", "conversion")
SHOWN = ("impression", "view")
_HITS = ("query_response_hit_ids", "query_response_objects_ids")
_LARGEST = sys.float_info.max


def read_ubi(
    queries: Records,
    events: Records,
    *,
    click: Sequence[str] = CLICK,
    conversion: Sequence[str] = CONVERSION,
    shown: Sequence[str] = SHOWN,
    on_error: str = "raise",
    skipped: "Counter[str] | None" = None,
) -> ClickLog:
    """Join the queries of UBI 1.3 (the results shown) with its events (the actions of users).

    Both are JSON lines (streamed; plain, gzip or zstd), a JSON array, the body of a bulk request, a saved
    search response (`hits.hits[]._source`), or dictionaries. Every `query_id` is a page and `user_query` its
    query; `query_response_hit_ids` (or `query_response_objects_ids`) has the results in displayed order. An
    event's document is `event_attributes.object.object_id`; actions named in `click` are clicks, those in
    `conversion` conversions (and clicks). The results of a query without hit ids are those of its events
    named in `shown`, by `event_attributes.position.ordinal`.

    Also kept, where known: the time of the query (`timestamp`), the session of the event or else the client
    (`user`), `application` (`layout`), `query_attributes.experiment_id` (`ranker`), and `dwell`: the seconds
    until the next action on the page, or what `event_attributes.dwell_time` says.

    What the schema allows to be missing is left out and counted in `skipped`: events without `query_id` or
    document, events of unknown queries, queries without `user_query` or without results. Other mistakes are
    errors that name record and field, or with `on_error="skip"` are counted as well.

    >>> pages = [{"query_id": "1", "user_query": "tv", "query_response_hit_ids": ["a", "b"]}]
    >>> done = [{"query_id": "1", "action_name": "click", "event_attributes": {"object": {"object_id": "b"}}},
    ...         {"action_name": "page_exit", "timestamp": "2026-03-01T10:00:00Z"}]
    >>> left_out = Counter()
    >>> log = read_ubi(pages, done, skipped=left_out)
    >>> log.document, log.click
    (array(['a', 'b'], dtype='<U1'), array([0, 1], dtype=int8))
    >>> left_out
    Counter({'events without query_id': 1})
    """
    counts: Counter[str] = Counter() if skipped is None else skipped
    pages: dict[str, _Page] = {}
    with Faults(queries, on_error, skipped).summed_up() as faults:
        faults.counts = counts
        for number, record in json_records(queries, faults):
            page = _page(number, record, faults)
            if page is not None:
                pages[page.session] = page
    with Faults(events, on_error, skipped).summed_up() as faults:
        faults.counts = counts
        for number, record in json_records(events, faults):
            _add_event(number, record, pages, faults, set(shown))
    rows = [row for page in pages.values() for row in _rows(page, set(click), set(conversion))]
    without = sum(not page.ranks for page in pages.values())
    if without:
        counts["queries without results"] += without
    if not rows:
        raise ValueError(
            "no query has the results that were shown; UBI needs query_response_hit_ids in ubi_queries, or "
            f"events named {' or '.join(map(repr, shown))} with event_attributes.object.object_id and "
            f".position.ordinal{_counted(counts)}"
        )
    names = _Row._fields
    columns = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    return ClickLog(**_known(columns))


class _Page:
    """A query, its results by rank, and what was done with each."""

    def __init__(self, session: str, record: Mapping[str, Any], when: float) -> None:
        self.session, self.query, self.when = session, str(record["user_query"]), when
        hits: list[Any] = next((record[name] for name in _HITS if record.get(name)), [])
        self.ranks = {str(hit): rank for rank, hit in enumerate(dict.fromkeys(map(str, hits)), start=1)}
        self.listed = bool(self.ranks)
        self.client = str(record.get("client_id") or "")
        self.person = ""
        self.layout = str(record.get("application") or "")
        self.ranker = str((record.get("query_attributes") or {}).get("experiment_id") or "")
        self.actions: dict[str, set[str]] = {}
        self.times: list[tuple[float, str, str]] = []  # of all events, with document ("" for none) and action
        self.dwell: dict[str, float] = {}  # dwell that an event says
        self.worth: dict[str, float] = {}  # of a conversion, where an event says it


class _Row(NamedTuple):
    session: str
    query: str
    document: str
    position: int
    click: int
    conversion: float
    user: str
    layout: str
    ranker: str
    timestamp: float
    dwell: float


def _page(number: int, record: Mapping[str, Any], faults: Faults) -> _Page | None:
    if record.get("query_id") in (None, ""):
        faults.absent("queries without query_id")
        return None
    if not record.get("user_query"):
        faults.absent("queries without user_query")
        return None
    for name in _HITS:
        if record.get(name) is not None and not isinstance(record[name], list):
            faults(number, name, f"wanted a list of ids, got {record[name]!r}", "write ids in an array")
            return None
    if not isinstance(record.get("query_attributes") or {}, Mapping):
        got = record["query_attributes"]
        faults(number, "query_attributes", f"wanted an object, got {got!r}", "correct it")
        return None
    when = _time(number, record, faults)
    return None if when is None else _Page(str(record["query_id"]), record, when)


def _add_event(
    number: int, record: Mapping[str, Any], pages: Mapping[str, _Page], faults: Faults, shown: set[str]
) -> None:
    if record.get("query_id") in (None, ""):
        return faults.absent("events without query_id")
    if not record.get("action_name"):
        return faults(number, "action_name", "every event has an action", "add it, or drop the event")
    page = pages.get(str(record["query_id"]))
    if page is None:
        return faults.absent("events of unknown queries")
    details = record.get("event_attributes") or {}
    inner = (
        [details.get(name) or {} for name in ("object", "position")] if isinstance(details, Mapping) else []
    )
    if not inner or not all(isinstance(one, Mapping) for one in inner):
        return faults(number, "event_attributes", f"wanted an object, got {details!r}", "correct it")
    when = _time(number, record, faults)
    if when is None:
        return None
    page.person = page.person or str(record.get("session_id") or "")
    page.client = page.client or str(record.get("client_id") or "")
    page.layout = page.layout or str(record.get("application") or "")
    document = inner[0].get("object_id")
    action, ordinal = str(record["action_name"]), inner[1].get("ordinal")
    if action not in shown:
        page.times.append((when, "" if document is None else str(document), action))
    if document is None:
        return faults.absent("events without document")
    if action in shown and ordinal is not None and not page.listed:
        if isinstance(ordinal, bool) or not isinstance(ordinal, int) or ordinal < 1:
            problem = f"wanted a whole number from 1, got {ordinal!r}"
            return faults(number, "event_attributes.position.ordinal", problem, "correct or drop the event")
        taken = next((other for other, rank in page.ranks.items() if rank == ordinal), str(document))
        if taken != str(document):
            problem = f"position {ordinal} of query {page.session} already shows {taken!r}"
            return faults(number, "event_attributes.position.ordinal", problem, "drop one of the events")
        page.ranks.setdefault(str(document), ordinal)
    page.actions.setdefault(str(document), set()).add(action)
    seconds = _finite(details.get("dwell_time", details.get("dwell")))
    if seconds is not None and seconds >= 0:
        page.dwell[str(document)] = max(seconds, page.dwell.get(str(document), 0.0))
    worth = _finite(details.get("conversion"))
    if worth is not None:
        page.worth[str(document)] = page.worth.get(str(document), 0.0) + worth
    return None


def _finite(value: object) -> float | None:
    """A number of JSON, which may be whole and too large for a float; None for what is no finite one."""
    if not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        return None
    return float(value)


def _time(number: int, record: Mapping[str, Any], faults: Faults) -> float | None:
    """Seconds since 1970; nan where there is no time, None where it cannot be read."""
    given = record.get("timestamp")
    if given is None:
        return nan
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            when = datetime.fromtimestamp(given / 1000, UTC)  # as OpenSearch keeps times
        else:
            when = datetime.fromisoformat(str(given))
    except (ValueError, OverflowError, OSError):
        faults(
            number, "timestamp", f"wanted a time such as 2026-03-01T10:00:00Z, got {given!r}", "correct it"
        )
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _rows(page: _Page, click: set[str], conversion: set[str]) -> Iterator[_Row]:
    dwell = _dwell(page, click | conversion)
    for document, rank in page.ranks.items():
        actions = page.actions.get(document, set())
        bought = not actions.isdisjoint(conversion)
        clicked = bought or not actions.isdisjoint(click)
        yield _Row(
            page.session,
            page.query,
            document,
            rank,
            int(clicked),
            page.worth.get(document, 1.0) if bought else 0.0,
            page.person or page.client,
            page.layout,
            page.ranker,
            page.when,
            dwell.get(document, nan) if clicked else nan,
        )


def _dwell(page: _Page, clicks: set[str]) -> dict[str, float]:
    """Seconds from the first click on a document to the next action on another one, or on none."""
    times = sorted(one for one in page.times if one[0] == one[0])
    found: dict[str, float] = {}
    for i, (when, document, action) in enumerate(times):
        if document and document not in found and action in clicks:
            later = next((time for time, other, _ in times[i + 1 :] if other != document), None)
            if later is not None:
                found[document] = later - when
    return found | page.dwell


def _known(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without the optional columns of which nothing is known."""
    kept = dict(columns)
    for name in ("layout", "ranker", "user"):
        if not any(kept[name]):
            del kept[name]
    for name in ("timestamp", "dwell"):
        if np.isnan(kept[name]).all():
            del kept[name]
    return kept


def _counted(counts: "Counter[str]") -> str:
    return "; left out: " + ", ".join(f"{n:,} {what}" for what, n in counts.items()) if counts else ""
