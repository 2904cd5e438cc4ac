"""Tokens of the administration and of users: compared in constant time, few wrong ones from one range."""

import hmac
import math
import time
from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

from anyio import to_thread
from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

from rankloop.serve.desk.users import ADMIN, User, user_of_token
from rankloop.serve.events.address_range import address_range
from rankloop.serve.http.answers import address_of, service_of
from rankloop.serve.http.limits import TokenBuckets

Found = TypeVar("Found")

__all__ = [
    "LockedOut",
    "WrongTokens",
    "given_token",
    "has_token",
    "is_admin",
    "only_admin",
    "user_of_given",
    "who",
]

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

    def find(self, look: Callable[[], Found | None], address: str | None) -> Found | None:
        """What a token stands for; `LockedOut` after too many wrong ones, also for the right one."""
        where, now = address_range(address), time.monotonic()
        wait = self._left.look(where, now)
        if wait > 0:
            raise LockedOut(wait)
        found = look()
        if not found:
            self._left.wait(where, now)
        return found

    def which(self, given: str, wanted: Mapping[str, str], address: str | None) -> str | None:
        """The name of the key that was given, each compared in constant time."""
        sent = given.encode()

        def look() -> str | None:
            right = [name for name, key in wanted.items() if hmac.compare_digest(sent, key.encode())]
            return right[0] if right else None

        return self.find(look, address)


def user_of_given(request: Request, given: str) -> User | None:
    """The person with a token: that of the config, whose name is "admin", or one in the store."""
    wrong: WrongTokens = request.app.state.wrong_tokens

    def look() -> User | None:
        if _is_configured(request, given):
            return User(ADMIN, "admin")
        return user_of_token(service_of(request).store, given)

    return wrong.find(look, address_of(request))


def _is_configured(request: Request, given: str) -> bool:
    """Whether it is the token of the config."""
    wanted = service_of(request).config.admin_token
    return bool(wanted) and hmac.compare_digest(given.encode(), wanted.encode())


def given_token(request: Request) -> str:
    """The token that a request brings; empty where there is none."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


_bearer = HTTPBearer(auto_error=False, description="The administration token.")


def is_admin(request: Request) -> bool:
    """Whether a request has the token of an administrator; another one is refused."""
    given = given_token(request)
    if not given:
        return False
    service = service_of(request)
    if not service.config.admin_token and not service.has_users():
        raise HTTPException(403, _OFF)
    found = user_of_given(request, given)
    if found is None or not found.may("admin"):
        raise HTTPException(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
    request.state.user = found
    return True


async def has_token(request: Request) -> bool:
    """`is_admin` for routes that everybody uses: a thread is taken only where the store must be asked."""
    given = given_token(request)
    if given and not _is_configured(request, given):
        return await to_thread.run_sync(is_admin, request)
    return is_admin(request)


def who(request: Request) -> str:
    """The name of the administrator who sent a request."""
    found: User = request.state.user
    return found.name


def only_admin(request: Request, _: Annotated[object, Depends(_bearer)] = None) -> None:
    """Refuse requests without the token of an administrator."""
    if is_admin(request):
        return
    service = service_of(request)
    if not service.config.admin_token and not service.has_users():
        raise HTTPException(403, _OFF)
    raise HTTPException(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
