"""Limits of one client: how much it sends, and how often."""

import asyncio
import json
import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from rankloop.serve.events.address_range import address_range

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["KEY_NAME", "SLOWEST_BODY", "Bodies", "Rates", "TokenBuckets", "refuse", "too_large", "whole_body"]

SLOWEST_BODY = 20.0  # seconds
UNLIMITED = ("/health", "/ready")
KEY_NAME = "rankloop.key"  # in the scope of a request: the name of the key of a trusted program
OWN_BODIES = "/documents"  # routes under it read large bodies themselves, once they have seen the token


class TokenBuckets:
    """How much each client may send: `burst` at once, `rate` a second in the long run.

    Of more than `most` clients the least recent is dropped, which gives it a full bucket: memory is bounded.

    >>> buckets = TokenBuckets(rate=1.0, burst=2, most=100)
    >>> [buckets.wait("a", now) for now in (0.0, 0.0, 0.0, 1.0)]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, rate: float, burst: float, most: int) -> None:
        self.rate, self.burst, self.most = rate, burst, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def wait(self, client: str, now: float, tokens: float = 1.0) -> float:
        """Take some tokens: 0, or the seconds until they are there."""
        wait, left = self.look(client, now, tokens), self._now(client, now)
        self._left.pop(client, None)
        self._left[client] = (left if wait > 0 else left - tokens, now)
        if len(self._left) > self.most:
            self._left.popitem(last=False)
        return wait

    def look(self, client: str, now: float, tokens: float = 1.0) -> float:
        """The same without taking them."""
        left = self._now(client, now)
        return 0.0 if left >= tokens else (tokens - left) / self.rate

    def _now(self, client: str, now: float) -> float:
        left, before = self._left.get(client, (float(self.burst), now))
        return min(self.burst, left + (now - before) * self.rate)


class Rates:
    """Middleware: a client that sends too many requests gets 429 with the time to wait.

    A client is an IPv4 address or the /64 of an IPv6 address, which one household has; the server takes it
    from the headers of trusted proxies only. With the key of a trusted program it is the key, and `trusted`
    has how much it may send.
    """

    def __init__(self, app: "ASGIApp", buckets: TokenBuckets, trusted: TokenBuckets) -> None:
        self.app, self.buckets, self.trusted = app, buckets, trusted

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        key = scope.get(KEY_NAME)
        buckets = self.buckets if key is None else self.trusted
        if scope["type"] == "http" and buckets.rate > 0 and scope["path"] not in UNLIMITED:
            client = _client(scope) if key is None else str(key)
            wait = buckets.wait(client, time.monotonic())
            if wait > 0:
                retry = str(math.ceil(wait))
                await refuse(send, 429, "too many requests; slow down", {"retry-after": retry})
                return
        await self.app(scope, receive, send)


def _client(scope: "Scope") -> str:
    address = (scope.get("client") or (None,))[0]
    return address_range(address, ipv4=32, ipv6=64)


class Bodies:
    """Middleware: at most `limit` bytes of a request are held in memory, also when it comes in chunks."""

    def __init__(self, app: "ASGIApp", limit: int, seconds: float = SLOWEST_BODY) -> None:
        self.app, self.limit, self.seconds = app, limit, seconds

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = dict(scope["headers"])
        if b"content-length" in sent and b"transfer-encoding" in sent:  # a proxy may have gone by the other
            message = "a request has either Content-Length or Transfer-Encoding"
            await refuse(send, 400, message, {"connection": "close"})
            return
        if sent.get(b"content-encoding", b"identity").lower() != b"identity":
            message = "send the body as it is, without Content-Encoding"
            await refuse(send, 415, message, {"connection": "close"})
            return
        if scope.get("path", "").startswith(OWN_BODIES):
            await self.app(scope, receive, send)
            return
        length = sent.get(b"content-length", b"0")
        if length == b"0" and b"transfer-encoding" not in sent:
            await self.app(scope, receive, send)
            return
        if not length.isdigit() or int(length) > self.limit:
            await self._too_large(send)
            return
        try:
            async with asyncio.timeout(self.seconds):
                messages = await whole_body(receive, self.limit)
        except TimeoutError:
            await refuse(send, 408, "the request came too slowly", {"connection": "close"})
            return
        if messages is None:
            await self._too_large(send)
            return
        await self.app(scope, _replay(messages, receive), send)

    async def _too_large(self, send: "Send") -> None:
        await refuse(send, 413, too_large(self.limit), {"connection": "close"})


async def whole_body(receive: "Receive", limit: int) -> "list[Message] | None":
    """The messages of a request; None as soon as they have more than `limit` bytes."""
    messages, size = [], 0
    while True:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if size > limit:
            return None
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return messages


def too_large(limit: int) -> str:
    return f"a request has at most {limit} bytes; send less at a time"


async def refuse(send: "Send", status: int, message: str, headers: dict[str, str]) -> None:
    """A short answer in place of the app's."""
    body = json.dumps({"detail": message}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _replay(messages: "list[Message]", receive: "Receive") -> "Receive":
    left = iter(messages)

    async def again() -> "Message":
        return next(left, None) or await receive()

    return again
