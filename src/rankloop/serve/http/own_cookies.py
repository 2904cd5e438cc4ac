"""Cookies of a request: those that this service set, as it set them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["OwnCookies"]

OURS = b"rankloop_"  # how the names of our cookies begin
_COOKIE = b"cookie"
_QUOTES = (b'"', b"\\")


class OwnCookies:
    """Middleware: leaves out cookies of other services of the same site, and values in quotation marks.

    We never write such values, and to unquote one takes Python before 3.11.10 and 3.12.6 the square of its
    length: 30 kB of backslashes took seconds, in the one thread in which all requests are read.
    """

    def __init__(self, app: "ASGIApp") -> None:
        self.app = app

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "http" and any(name == _COOKIE for name, _ in scope["headers"]):
            headers = [(name, _ours(value) if name == _COOKIE else value) for name, value in scope["headers"]]
            scope["headers"] = [one for one in headers if one != (_COOKIE, b"")]
        await self.app(scope, receive, send)


def _ours(cookies: bytes) -> bytes:
    """The pairs of a header that are ours.

    >>> _ours(b'a=1; rankloop_user=2; rankloop_admin="x"')
    b'rankloop_user=2'
    """
    pairs = (one.strip() for one in cookies.split(b";"))
    return b"; ".join(one for one in pairs if one.startswith(OURS) and not any(q in one for q in _QUOTES))
