"""Keys of trusted programs: a shop's own backend is not limited as one visitor would be."""

from typing import TYPE_CHECKING, Any

from rankloop.serve.http.answers import RETRY
from rankloop.serve.http.limits import KEY_NAME, refuse
from rankloop.serve.http.search_threads import Busy
from rankloop.serve.http.tokens import LockedOut, WrongTokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Keys"]

HEADER, PERSON = b"x-api-key", b"x-client-address"


class Keys:
    """Middleware: finds the key of a request; a wrong one is refused, and many wrong ones lock out.

    A program with a key may name the address of the person it asks for, in X-Client-Address; if it does not,
    the address is unknown, as its own is that of nobody who searches.
    """

    def __init__(self, app: "ASGIApp", keys: "Mapping[str, str]", wrong: WrongTokens) -> None:
        self.app, self.keys, self.wrong = app, dict(keys), wrong

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        sent: dict[bytes, bytes] = dict(scope["headers"]) if scope["type"] == "http" else {}
        if HEADER not in sent:
            await self.app(scope, receive, send)
            return
        client: Any = scope.get("client")
        try:
            name = await self.wrong.which(
                sent[HEADER].decode("latin-1"), self.keys, client[0] if client else None
            )
        except LockedOut as error:
            await refuse(send, 429, str(error), {"retry-after": str(error.seconds)})
            return
        except Busy as error:
            await refuse(send, 503, str(error), {"retry-after": RETRY})
            return
        if name is None:
            message = "this X-Api-Key is not known; the keys of trusted programs are in RANKLOOP_KEYS"
            await refuse(send, 401, message, {})
            return
        scope[KEY_NAME] = name
        person = sent.get(PERSON, b"").decode("latin-1").strip()
        scope["client"] = (person, 0) if person else None
        await self.app(scope, receive, send)
