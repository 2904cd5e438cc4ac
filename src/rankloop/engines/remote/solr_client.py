"""Calls to Solr over HTTP: retries on other hosts, time limits, and errors without secrets."""

import http.client
import json
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from rankloop._json import parse_json
from rankloop.engines.engine_away import EngineAway
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.credentials import Credentials

__all__ = ["SolrClient"]

BUSY = (429, 502, 503, 504)
ROUNDS = 2  # over all hosts
PAUSE = 0.2  # seconds before the second round

Idle = dict[tuple[str, int], list[http.client.HTTPConnection]]


class SolrClient:
    """Connections are kept open; a host that fails is tried last.

    `trouble` says why the last call failed, and is None after one that was answered.
    """

    def __init__(self, address: Address, credentials: Credentials | None = None) -> None:
        found = Credentials.find(address) if credentials is None else credentials
        self.address = address
        self.trouble: str | None = None
        self._headers = {"Content-Type": "application/json", **found.headers}
        self._context = found.context() if address.tls else None
        self._hosts = list(address.hosts)
        self._idle: Idle = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _close, self._idle)

    def collection(self, path: str) -> str:
        """A path inside the collection of the address."""
        return f"/solr/{quote(self.address.name, safe='')}{path}"

    def call(
        self, method: str, path: str, body: Any = None, *, timeout: float | None = None, **params: Any
    ) -> Any:
        """The answer as JSON, within the seconds of the address, or of `timeout` where they are more."""
        limit = max(self.address.timeout, timeout or 0.0)
        where = f"{path}?{urlencode({'wt': 'json', **params})}"
        data = None if body is None else json.dumps(body).encode()
        reason = ""
        for attempt in range(ROUNDS):
            for host in list(self._hosts):
                try:
                    status, text = self._request(host, method, where, data, limit)
                except (OSError, http.client.HTTPException) as error:
                    reason = f"does not answer ({type(error).__name__}); check the address, and that it runs"
                    self._put_last(host)
                    continue
                if status in BUSY:
                    reason = f"is busy or broken ({status})"
                    continue
                return self._read(status, text)
            if attempt + 1 < ROUNDS:
                time.sleep(PAUSE)
        self.trouble = f"{self.address} {reason}"
        raise EngineAway(self.trouble)

    def _read(self, status: int, text: bytes) -> Any:
        if status in (401, 403):
            self.trouble = (
                f"{self.address} refuses the credentials; check RANKLOOP_ENGINE_USER "
                "and RANKLOOP_ENGINE_PASSWORD"
            )
            raise EngineAway(self.trouble)
        try:
            found = parse_json(text or b"{}")
        except ValueError:
            found = None
        if not isinstance(found, dict):
            if status < 400:
                self.trouble = f"{self.address} answers, but not as an engine does; is the address right?"
                raise EngineAway(self.trouble)
            found = {}
        if status >= 500:
            self.trouble = f"{self.address} is broken ({status}: {_reason(found)})"
            raise EngineAway(self.trouble)
        self.trouble = None
        if status == 404:
            raise LookupError(f"{self.address}: there is no such collection or handler")
        if status >= 400 or "error" in found:
            raise ValueError(f"{self.address}: {_reason(found)}")
        return found

    def _request(
        self, host: tuple[str, int], method: str, where: str, data: bytes | None, limit: float
    ) -> tuple[int, bytes]:
        with self._lock:
            kept = self._idle.setdefault(host, []).pop() if self._idle.get(host) else None
        connection = kept or self._connect(host)
        connection.timeout = limit
        if connection.sock is not None:
            connection.sock.settimeout(limit)
        try:
            connection.request(method, where, data, self._headers)
            answer = connection.getresponse()
            found = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            if kept is None:
                raise
            return self._request(host, method, where, data, limit)  # the kept connection was closed meanwhile
        with self._lock:
            self._idle.setdefault(host, []).append(connection)
        return found

    def _connect(self, host: tuple[str, int]) -> http.client.HTTPConnection:
        if self._context is not None:
            return http.client.HTTPSConnection(*host, context=self._context)
        return http.client.HTTPConnection(*host)

    def _put_last(self, host: tuple[str, int]) -> None:
        self._hosts = [*(one for one in self._hosts if one != host), host]


def _close(idle: Idle) -> None:
    for connections in idle.values():
        for one in connections:
            one.close()


def _reason(found: Mapping[str, Any]) -> str:
    error = found.get("error", {})
    return (
        str(error.get("msg") or error or "no reason given")[:300]
        if isinstance(error, Mapping)
        else str(error)
    )
