"""Calls to OpenSearch: retries, time limits, and errors in one sentence that holds no secret."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from rankloop._extras import require
from rankloop.engines.engine_away import EngineAway
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.credentials import Credentials

__all__ = ["OpenSearchClient"]

RETRIES = 3
BUSY = (429, 502, 503, 504)
_POOL = 32  # connections kept open to a host


class OpenSearchClient:
    """One connection pool over all hosts of an address; a host that fails is left out for a while.

    `trouble` says why the last call failed, and is None after one that was answered.
    """

    def __init__(self, address: Address, credentials: Credentials | None = None) -> None:
        opensearchpy = require("opensearchpy", "opensearch")
        found = Credentials.find(address) if credentials is None else credentials
        secure: dict[str, Any] = {"ssl_context": found.context()} if address.tls else {}
        self.address = address
        self.trouble: str | None = None
        self._errors = opensearchpy.exceptions
        self._client = opensearchpy.OpenSearch(
            hosts=[{"host": host, "port": port} for host, port in address.hosts],
            use_ssl=address.tls,
            headers=found.headers,
            timeout=address.timeout,
            max_retries=RETRIES,
            retry_on_timeout=True,
            retry_on_status=BUSY,
            pool_maxsize=_POOL,
            **secure,
        )

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        timeout: float | None = None,
        absent: Any = None,
        **params: Any,
    ) -> Any:
        """The answer as JSON; `absent` in place of a 404 if it is given."""
        try:
            found = self._call(method, path, body, timeout, absent, params)
        except EngineAway as error:
            self.trouble = str(error)
            raise
        self.trouble = None
        return found

    def _call(
        self, method: str, path: str, body: Any, timeout: float | None, absent: Any, params: Mapping[str, Any]
    ) -> Any:
        options: dict[str, Any] = dict(params)
        if timeout is not None:
            options["request_timeout"] = timeout
        try:
            found = self._client.transport.perform_request(method, path, params=options, body=body)
        except self._errors.NotFoundError as error:
            if absent is not None:
                return absent
            raise LookupError(f"{self.address}: {_reason(error)}") from None
        except (self._errors.AuthenticationException, self._errors.AuthorizationException):
            raise EngineAway(
                f"{self.address} refuses the credentials; check RANKLOOP_ENGINE_USER and "
                "RANKLOOP_ENGINE_PASSWORD, or RANKLOOP_ENGINE_API_KEY, and what that user may do"
            ) from None
        except self._errors.ConnectionTimeout:
            raise EngineAway(
                f"{self.address} did not answer within {timeout or self.address.timeout:g} seconds"
            ) from None
        except self._errors.ConnectionError as error:
            raise EngineAway(
                f"{self.address} does not answer ({type(error.info).__name__}); check the address, and that "
                "it runs"
            ) from None
        except self._errors.TransportError as error:
            if error.status_code in BUSY or (isinstance(error.status_code, int) and error.status_code >= 500):
                raise EngineAway(
                    f"{self.address} is busy or broken ({error.status_code}: {_reason(error)})"
                ) from None
            raise ValueError(f"{self.address}: {_reason(error)}") from None
        except (self._errors.SerializationError, ValueError, RecursionError):
            found = None  # no JSON
        if not isinstance(found, dict):
            raise EngineAway(f"{self.address} answers, but not as an engine does; is the address right?")
        return found

    def index(self, path: str = "") -> str:
        """A path inside the index of the address."""
        return f"/{quote(self.address.name, safe='')}{path}"

    def bulk(self, lines: list[Mapping[str, Any]], *, timeout: float) -> Any:
        """Several writes in one request."""
        return self.call("POST", self.index("/_bulk"), _lines(lines), timeout=timeout)

    def search_all(self, lines: list[Mapping[str, Any]]) -> Any:
        """Several searches in one request: headers and bodies in turn."""
        return self.call("POST", self.index("/_msearch"), _lines(lines))["responses"]


def _lines(given: list[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in given)


def _reason(error: Any) -> str:
    """What the engine says is wrong, without its stack of causes."""
    info = error.info if isinstance(getattr(error, "info", None), Mapping) else {}
    cause = info.get("error", info)
    if not isinstance(cause, Mapping):
        return str(cause or getattr(error, "error", "") or "no such thing")[:300]
    roots = cause.get("root_cause") or [cause]
    root = roots[0] if isinstance(roots[0], Mapping) else cause
    inner = cause.get("caused_by") or {}
    text = str(root.get("reason") or root.get("type") or error.error)
    more = str(inner.get("reason") or "") if isinstance(inner, Mapping) else ""
    return (f"{text}: {more}" if more and more not in text else text)[:300]
