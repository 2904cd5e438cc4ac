"""The request log: one line of JSON for each request, without tokens, and with queries only if asked."""

import json
import os
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from rankloop.serve.http.answers import call_on_start
from rankloop.serve.http.limits import KEY_NAME
from rankloop.serve.json_value import clean_text

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["RequestLog"]

LONGEST_QUERY = 500  # characters
MOST_BYTES = 1 << 16  # of a body that is searched for its query
STANDARD_OUTPUT = "-"


class RequestLog:
    """Middleware: writes time, method, route, status, milliseconds and the name of the key of each request.

    The route is the declared one, `/documents/{id}`, so that no address holds what a person typed. A line is
    one write to a file opened for appending: workers share it, and it may be moved away at any time. A disk
    that is full keeps nobody from searching.
    """

    def __init__(self, app: "ASGIApp", path: Path | None, *, queries: bool = False) -> None:
        self.app, self.path, self.queries = app, path, queries

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, at = time.perf_counter(), datetime.now(UTC)
        status, body = 500, bytearray()

        def started(message: "Message") -> None:
            nonlocal status
            status = message["status"]

        async def listened() -> "Message":
            message = await receive()
            if len(body) <= MOST_BYTES:
                body.extend(message.get("body", b""))
            return message

        try:
            await call_on_start(self.app, scope, listened if self.queries else receive, send, started)
        finally:
            route: Any = scope.get("route")
            line = {
                "time": at.isoformat(timespec="milliseconds"),
                "method": scope["method"],
                "route": getattr(route, "path", "other"),
                "status": status,
                "milliseconds": round(1000 * (time.perf_counter() - start), 3),
            }
            if KEY_NAME in scope:
                line["key"] = scope[KEY_NAME]
            if self.queries and (query := _query(scope, bytes(body))) is not None:
                line["query"] = query
            self._write(json.dumps(line) + "\n")

    def _write(self, line: str) -> None:
        with suppress(OSError):
            if self.path is None:
                sys.stdout.write(line)
                sys.stdout.flush()
                return
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, line.encode())
            finally:
                os.close(handle)


def _query(scope: "Scope", body: bytes) -> str | None:
    """What was searched for, in the address or in the body."""
    given = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    found: Any = next((given[name][0] for name in ("q", "query") if name in given), None)
    if found is None and body:
        with suppress(ValueError, RecursionError):
            parsed = json.loads(body)
            found = parsed.get("query") if isinstance(parsed, dict) else None
    return clean_text(found)[:LONGEST_QUERY] if isinstance(found, str) else None
