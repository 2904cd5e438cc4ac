"""Answers compressed with gzip, but for pages of people who are logged in."""

from typing import TYPE_CHECKING

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import cookie_parser

from rankloop.serve.http.answers import call_on_start

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Compression"]

SMALLEST = 1000  # bytes that are worth it
EFFORT = 4
LOGIN = "rankloop_admin"
STATIC = "/static/"


class Compression:
    """Middleware: gzip where the client takes it.

    A page with the token of a form beside text that others chose is not compressed: the length of such
    a page tells how much of the token was guessed (the BREACH attack).
    """

    def __init__(self, app: "ASGIApp") -> None:
        self.app = app
        self.compressed = GZipMiddleware(app, minimum_size=SMALLEST, compresslevel=EFFORT)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http" or (_logged_in(scope) and not scope["path"].startswith(STATIC)):
            await self.app(scope, receive, send)
        elif any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"]):
            await self.compressed(scope, receive, send)
        else:
            await call_on_start(self.app, scope, receive, send, _varies)


def _varies(message: "Message") -> None:
    """The answer depends on what a client takes: caches keep it apart from the compressed one."""
    message["headers"] = [*message["headers"], (b"vary", b"Accept-Encoding")]


def _logged_in(scope: "Scope") -> bool:
    cookies = (value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie")
    return any(LOGIN in cookie_parser(one) for one in cookies)
