"""Security headers of every answer: nothing from other sites, no guessed types, no frames."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankloop.serve.http.answers import call_on_start

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "Headers"]

POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "img-src 'self' data:"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Headers:
    """Middleware: adds the headers that an answer does not set itself; images may come from `images` too."""

    def __init__(self, app: "ASGIApp", images: Iterable[str] = ()) -> None:
        self.app = app
        policy = " ".join([POLICY, *images])
        given = HEADERS | {"content-security-policy": policy}
        self._headers = [(name.encode(), value.encode()) for name, value in given.items()]

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        await call_on_start(self.app, scope, receive, send, self._add)

    def _add(self, message: "Message") -> None:
        present = {name.lower() for name, _ in message["headers"]}
        message["headers"] = [
            *message["headers"],
            *((name, value) for name, value in self._headers if name not in present),
        ]
