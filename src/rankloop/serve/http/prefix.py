"""The service behind a proxy that shows it under a path, such as https://example.org/shop/."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Prefix", "under_prefix"]

_IN_HTML = re.compile(rb'(\s(?:href|action|formaction|src|data-[a-z-]+)=")/(?!/)')
_IN_SCRIPT = re.compile(rb"""(["'`])/(?=[a-z?])""")
_KINDS = {b"text/html": _IN_HTML, b"text/javascript": _IN_SCRIPT}


class Prefix:
    """Middleware: takes the prefix from the path of a request, and puts it before every address in answers.

    The proxy may strip the prefix or leave it. Redirects, cookies, pages and scripts stay under it, so that
    two services of one site do not share their cookies.
    """

    def __init__(self, app: "ASGIApp", prefix: str) -> None:
        self.app, self.prefix = app, prefix

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path: str = scope["path"]
        if path == self.prefix or path.startswith(f"{self.prefix}/"):
            scope = {**scope, "path": path.removeprefix(self.prefix) or "/"}
        await self.app(scope, receive, _Answer(self.prefix, send))


class _Answer:
    """What is sent: the start of a page or script waits for its body, whose length changes."""

    def __init__(self, prefix: str, send: "Send") -> None:
        self.prefix, self.send = prefix, send
        self.start: Message | None = None
        self.body = b""
        self.kind = b""

    async def __call__(self, message: "Message") -> None:
        if message["type"] == "http.response.start":
            headers = [(name, self._header(name.lower(), value)) for name, value in message["headers"]]
            self.kind = dict(headers).get(b"content-type", b"").partition(b";")[0].strip()
            message = {**message, "headers": headers}
            if self.kind in _KINDS:
                self.start = message
                return
        elif self.start is not None:
            self.body += message.get("body", b"")
            if message.get("more_body", False):
                return
            body = under_prefix(self.body, self.kind, self.prefix)
            kept = [one for one in self.start["headers"] if one[0].lower() != b"content-length"]
            length = (b"content-length", str(len(body)).encode())
            await self.send({**self.start, "headers": [*kept, length]})
            self.start, message = None, {**message, "body": body}
        await self.send(message)

    def _header(self, name: bytes, value: bytes) -> bytes:
        prefix = self.prefix.encode()
        if name == b"location" and value.startswith(b"/") and not value.startswith(b"//"):
            return prefix + value
        if name == b"set-cookie":
            return re.sub(rb"(?i)(;\s*path=)/(?=;|$)", rb"\1" + prefix + b"/", value)
        return value


def under_prefix(body: bytes, kind: bytes, prefix: str) -> bytes:
    """A page or script whose addresses begin with the prefix.

    >>> under_prefix(b'<a href="/login">', b"text/html", "/shop")
    b'<a href="/shop/login">'
    >>> under_prefix(b'fetch("/events")', b"text/javascript", "/shop")
    b'fetch("/shop/events")'
    """
    return _KINDS[kind].sub(rb"\1" + prefix.encode() + b"/", body)
