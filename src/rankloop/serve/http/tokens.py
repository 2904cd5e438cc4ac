"""Tokens of the administration and of users: compared in constant time, few wrong ones from one range."""

import asyncio
import hashlib
import hmac
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, TypeVar

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPBearer

from rankloop.serve.desk.users import ADMIN, User, user_of_token
from rankloop.serve.events.address_range import address_range
from rankloop.serve.http.answers import address_of, asked_of_store, service_of
from rankloop.serve.http.limits import TokenBuckets
from rankloop.serve.http.search_threads import Busy

Found = TypeVar("Found")

__all__ = ["LockedOut", "WrongTokens", "given_token", "has_token", "only_admin", "user_of_given", "who"]

TRIES = 10  # wrong tokens of an address range before it is locked out
AGAIN = 60.0  # seconds after which one more try is allowed
PATIENCE = 10.0  # seconds that a token waits while others of its address range are compared
_NEEDED = "this needs the administration token: Authorization: Bearer ..."

_OFF = "administration is off; start the service with RANKLOOP_ADMIN_TOKEN or admin_token set"


class LockedOut(Exception):  # noqa: N818 - what happened, not a mistake of anybody
    """Too many wrong tokens came from an address range; `seconds` says when to try again."""

    def __init__(self, seconds: float) -> None:
        self.seconds = math.ceil(seconds)
        super().__init__(f"too many wrong tokens; try again in {self.seconds} seconds")


class WrongTokens:
    """Counts wrong tokens by address range; memory is bounded by `clients` ranges.

    What is compared now may be wrong too: no more is begun than would be allowed then, and the rest waits its
    turn. All of it happens in one event loop, so that nothing comes between a look and what follows from it.
    """

    def __init__(self, clients: int) -> None:
        self._left = TokenBuckets(1.0 / AGAIN, TRIES, clients)
        self._compared: Counter[str] = Counter()  # now, of each address range
        self._turns: dict[str, deque[asyncio.Future[None]]] = {}
        self._unsure: OrderedDict[tuple[str, bytes], None] = OrderedDict()

    async def find(
        self, look: Callable[[], Awaitable[Found | None]], given: str, address: str | None
    ) -> Found | None:
        """What a token stands for; `LockedOut` after too many wrong ones, also for the right one."""
        where = address_range(address)
        await self._turn(where)
        self._compared[where] += 1
        try:
            found = await look()
            if not found:
                self._left.wait(where, time.monotonic())
        except BaseException:  # the store did not answer; there are keys that are compared without it
            self._count_once(where, given)
            raise
        finally:
            self._compared[where] -= 1
            if not self._compared[where]:
                del self._compared[where]
            self._next(where)
        return found

    async def which(self, given: str, wanted: Mapping[str, str], address: str | None) -> str | None:
        """The name of the key that was given, each compared in constant time."""
        sent = given.encode()

        async def look() -> str | None:
            right = [name for name, key in wanted.items() if hmac.compare_digest(sent, key.encode())]
            return right[0] if right else None

        return await self.find(look, given, address)

    async def _turn(self, where: str) -> None:
        """Wait until one more may be compared."""
        end = time.monotonic() + PATIENCE
        while True:
            now = time.monotonic()
            wait = self._left.look(where, now)
            if wait > 0:
                self._next(where)
                raise LockedOut(wait)
            if self._left.look(where, now, 1.0 + self._compared[where]) <= 0:
                return
            await self._wait(where, end - now)

    async def _wait(self, where: str, seconds: float) -> None:
        turn = asyncio.get_running_loop().create_future()
        queue = self._turns.setdefault(where, deque())
        queue.append(turn)
        try:
            await asyncio.wait({turn}, timeout=seconds)
        except asyncio.CancelledError:
            if turn.done():  # it is the turn of the next one
                self._next(where)
            raise
        finally:
            if not turn.done():
                queue.remove(turn)
        if not turn.done():
            raise Busy("too many tokens of one network are being compared; try again in a moment")

    def _next(self, where: str) -> None:
        """Let the next one of an address range look again."""
        queue = self._turns.pop(where, None)
        if queue:
            queue.popleft().set_result(None)
        if queue:
            self._turns[where] = queue

    def _count_once(self, where: str, given: str) -> None:
        """Count a token that nobody could judge; sent again it tells nothing new, so it counts once."""
        token = (where, hashlib.sha256(given.encode()).digest())
        if token not in self._unsure:
            self._left.wait(where, time.monotonic())
        self._unsure[token] = None
        if len(self._unsure) > self._left.most:
            self._unsure.popitem(last=False)


async def user_of_given(request: Request, given: str) -> User | None:
    """The person with a token: that of the config, whose name is "admin", or one in the store."""
    wrong: WrongTokens = request.app.state.wrong_tokens

    async def look() -> User | None:
        if _is_configured(request, given):
            return User(ADMIN, "admin")
        return await asked_of_store(request, lambda: user_of_token(service_of(request).store, given))

    return await wrong.find(look, given, address_of(request))


def _is_configured(request: Request, given: str) -> bool:
    """Whether it is the token of the config."""
    wanted = service_of(request).config.admin_token
    return bool(wanted) and hmac.compare_digest(given.encode(), wanted.encode())


def given_token(request: Request) -> str:
    """The token that a request brings; empty where there is none."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


_bearer = HTTPBearer(auto_error=False, description="The administration token.")


async def has_token(request: Request) -> bool:
    """Whether a request has the token of an administrator; another one is refused."""
    given = given_token(request)
    if not given:
        return False
    await _check_on(request)
    found = await user_of_given(request, given)
    if found is None or not found.may("admin"):
        raise HTTPException(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
    request.state.user = found
    return True


async def _check_on(request: Request) -> None:
    """Refuse tokens where nobody has one."""
    service = service_of(request)
    if not service.config.admin_token and not await asked_of_store(request, service.has_users):
        raise HTTPException(403, _OFF)


def who(request: Request) -> str:
    """The name of the administrator who sent a request."""
    found: User = request.state.user
    return found.name


async def only_admin(request: Request, _: Annotated[object, Depends(_bearer)] = None) -> None:
    """Refuse requests without the token of an administrator."""
    if not await has_token(request):
        await _check_on(request)
        raise HTTPException(401, _NEEDED, {"WWW-Authenticate": "Bearer"})
