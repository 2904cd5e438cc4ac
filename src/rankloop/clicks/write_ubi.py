"""A click log as User Behavior Insights 1.3."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._atomic import replacing
from rankloop.clicks.click_log import ClickLog

__all__ = ["write_ubi"]


def write_ubi(
    log: ClickLog,
    queries: str | Path,
    events: str | Path,
    *,
    timestamp: float | None = None,
    bulk: bool = False,
) -> None:
    """Write the pages to the file `queries` and what people did to `events`, as JSON lines for `read_ubi`.

    Results are `query_response_hit_ids`; a page whose positions have gaps gets "impression" events instead.
    Clicks are "click" events (with `dwell_time` where known) and conversions "purchase" events. `user`
    becomes `client_id`, `layout` the `application`, `ranker` the `query_attributes.experiment_id`. UBI has no
    place for scores, propensities and interventions: keep these with `write_clicks`. Events need a time: that
    of the log, or `timestamp` (seconds since 1970) for all. `bulk` adds the lines that `POST _bulk` wants.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> log = ClickLog(["s1", "s1"], ["tv", "tv"], ["a", "b"], [1, 2], [0, 1])
    >>> write_ubi(log, folder / "queries", folder / "events", timestamp=0)
    >>> from rankloop.clicks import read_ubi
    >>> read_ubi(folder / "queries", folder / "events").click
    array([0, 1], dtype=int8)
    """
    if log.timestamp is None and timestamp is None:
        raise ValueError(
            "every event of UBI has a time, and this log has no timestamp; pass timestamp=, in seconds since "
            "1970"
        )
    names = _page_names(log)
    with ExitStack() as both:
        asked, done = (
            both.enter_context(both.enter_context(replacing(path)).open("w", encoding="utf-8"))
            for path in (queries, events)
        )
        for page in range(log.n_pages):
            query, actions = _page(log, page, names[page], timestamp)
            asked.write(_lines([query], "ubi_queries", bulk))
            done.write(_lines(actions, "ubi_events", bulk))


def _page_names(log: ClickLog) -> list[str]:
    """The session of each page; pages of one session are numbered."""
    sessions = [str(session) for session in log.sessions.tolist()]
    if len(set(sessions)) == len(sessions):
        return sessions
    return [f"{session}/{page}" for page, session in enumerate(sessions, 1)]


def _page(
    log: ClickLog, page: int, name: str, default: float | None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    rows = slice(int(log.offsets[page]), int(log.offsets[page + 1]))
    documents = [str(one) for one in log.documents[log.row_document.code[rows]].tolist()]
    ranks = log.position[rows]
    whole = bool(np.array_equal(ranks, np.arange(1, len(ranks) + 1))) and len(set(documents)) == len(
        documents
    )
    when = _time(log.timestamp[rows.start] if log.timestamp is not None else float("nan"), default)
    client = {} if log.page_user is None else {"client_id": _id(log.page_user, page)}
    shared = {"query_id": name, **client, "timestamp": when}
    if log.page_layout is not None:
        shared["application"] = _id(log.page_layout, page)
    query: dict[str, Any] = {**shared, "user_query": str(log.queries[log.page_query.code[page]])}
    if whole:
        query["query_response_hit_ids"] = documents
    if log.page_ranker is not None:
        query["query_attributes"] = {"experiment_id": _id(log.page_ranker, page)}
    done = []
    for i, (document, rank) in enumerate(zip(documents, ranks.tolist(), strict=True)):
        for action, more in _actions(log, rows.start + i, whole):
            where = {"object": {"object_id": document}, "position": {"ordinal": rank}, **more}
            done.append({"action_name": action, **shared, "event_attributes": where})
    return query, done


def _actions(log: ClickLog, row: int, whole: bool) -> Iterator[tuple[str, dict[str, float]]]:
    if not whole:
        yield "impression", {}
    if log.click[row]:
        dwell = float("nan") if log.dwell is None else float(log.dwell[row])
        yield "click", {} if isnan(dwell) else {"dwell_time": dwell}
    if log.conversion is not None and log.conversion[row]:
        yield "purchase", {"conversion": float(log.conversion[row])}


def _id(column: Any, page: int) -> str:
    return str(column.table[column.code[page]])


def _time(seconds: float, default: float | None) -> str:
    if isnan(seconds):
        if default is None:
            raise ValueError(
                "every event of UBI has a time, and some pages of this log have none; pass timestamp="
            )
        seconds = default
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _lines(records: list[dict[str, Any]], index: str, bulk: bool) -> str:
    before = f"{json.dumps({'index': {'_index': index}})}\n" if bulk else ""
    return "".join(f"{before}{json.dumps(record, ensure_ascii=False)}\n" for record in records)
