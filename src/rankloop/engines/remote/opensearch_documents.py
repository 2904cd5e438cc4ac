"""Documents by id in OpenSearch: read, written in bulk, deleted."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rankloop.engines.engine_away import EngineAway
from rankloop.engines.remote.adding import Sent
from rankloop.engines.remote.opensearch_client import OpenSearchClient

__all__ = ["drop", "fetch", "known", "send"]

WRITING = 60.0  # seconds for one batch
TRIES = 5  # of documents that a busy engine put off


def fetch(client: OpenSearchClient, ids: Sequence[str]) -> list[dict[str, Any] | None]:
    """Documents as they were given, None for those that are not there."""
    if not ids:
        return []
    found = client.call("POST", client.index("/_mget"), {"ids": list(ids)})
    return [one["_source"] if one.get("found") else None for one in found["docs"]]


def known(client: OpenSearchClient, ids: Sequence[str]) -> list[bool]:
    """Whether the engine has each of some documents."""
    found = client.call("POST", client.index("/_mget"), {"ids": list(ids)}, _source="false")
    return [bool(one.get("found")) for one in found["docs"]]


def send(client: OpenSearchClient, documents: Sequence[tuple[str, Mapping[str, Any]]]) -> Sent:
    """Write documents by id; a busy engine is asked again, what it refuses is reported."""
    waiting, refused = dict(documents), Sent()
    for attempt in range(TRIES):
        lines: list[Mapping[str, Any]] = []
        for id, document in waiting.items():
            lines += [{"index": {"_id": id}}, document]
        put_off = {}
        for item in (one["index"] for one in _bulk(client, lines)):
            if item["status"] == 429 or item["status"] == 503:
                put_off[item["_id"]] = waiting[item["_id"]]
            elif item["status"] >= 300:
                refused[item["_id"]] = _refusal(item["error"])
        if not put_off:
            return refused
        waiting = put_off
        time.sleep(0.1 * 2**attempt)
    raise EngineAway(f"{client.address} is too busy: it put {len(waiting)} documents off {TRIES} times")


def drop(client: OpenSearchClient, ids: Sequence[str]) -> int:
    """Delete documents; gives how many there were."""
    if not ids:
        return 0
    items = _bulk(client, [{"delete": {"_id": id}} for id in ids])
    return sum(one["delete"].get("result") == "deleted" for one in items)


def _bulk(client: OpenSearchClient, lines: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found = client.bulk(lines, timeout=max(WRITING, client.address.timeout))
    return list(found["items"])


def _refusal(error: Mapping[str, Any]) -> str:
    inner = error.get("caused_by") or {}
    return f"{error.get('reason', error.get('type'))}" + (f": {inner['reason']}" if "reason" in inner else "")
