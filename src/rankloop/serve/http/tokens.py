"""The administration token: compared in constant time, and few wrong ones from one address range."""

import hmac
import math
import time
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

from rankloop.serve.events.address_range import address_range
from rankloop.serve.http.answers import address_of, service_of
from rankloop.serve.http.limits import TokenBuckets

__all__ = ["LockedOut", "WrongTokens", "is_admin", "is_token", "only_admin"]

TRIES = 10  # wrong tokens of an address range before it is locked out
AGAIN = 60.0  # seconds after which one more try is allowed
_NEEDED = "this needs the administration token: Authorization: Bearer ..."
_OFF = "administration is off; start the service with RANKLOOP_ADMIN_TOKEN or admin_token set"


class LockedOut(Exception):  # noqa: N818 - what happened, not a mistake of anybody
    """Too many wrong tokens came from an address range; `seconds` says when to try again."""

    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__(f"too many wrong tokens; try again in {self.seconds} seconds")


class WrongTokens:
    """Counts wrong tokens by address range; memory is bounded by `clients` ranges."""

    def __init__(self, clients: int) -> None:
        self._left = TokenBuckets(1.0 / AGAIN, TRIES, clients)

    def compare(self, given: str, wanted: str, address: str | None) -> bool:
        """Whether a token is right; `LockedOut` after too many wrong ones, also for the right one."""
        return self.which(given, {"token": wanted}, address) is not None

    def which(self, given: str, wanted: Mapping[str, str], address: str | None) -> str | None:
        """The same for several keys: the name of the one that was given, each compared in constant time."""
        where, now = address_range(address), time.monotonic()
        wait = self._left.look(where, now)
        if wait > 0:
            raise LockedOut(wait)
        sent = given.encode()
        right = [name for name, key in wanted.items() if hmac.compare_digest(sent, key.encode())]
        if not right:
            self._left.wait(where, now)
        return right[0] if right else None


def is_token(request: Request, given: str) -> bool:
    """Whether this is the token of the service; False where administration is off."""
    wanted = service_of(request).config.admin_token
    wrong: WrongTokens = request.app.state.wrong_tokens
    return bool(wanted) and wrong.compare(given, wanted, address_of(request))


_bearer = HTTPBearer(auto_error=False, description="The administration token.")


def is_admin(request: Request) -> bool:
    """Whether a request has the token; a wrong one is refused."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not given:
        return False
    if not service_of(request).config.admin_token:
        raise HTTPException(403, _OFF)
    if not is_token(request, given.strip()):
        raise HTTPException(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
    return True


def only_admin(request: Request, _: Annotated[object, Depends(_bearer)] = None) -> None:
    """Refuse requests without the administration token."""
    if not service_of(request).config.admin_token:
        raise HTTPException(403, _OFF)
    if not is_admin(request):
        raise HTTPException(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
