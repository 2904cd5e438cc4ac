"""Requests that carry a key: done once and answered alike, by every worker and after a restart."""

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update

from rankloop.serve.events.tables import keyed_requests
from rankloop.serve.events.writing import insert_new

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store

__all__ = ["KEPT", "KeyedRequest", "SameKey"]

KEPT = 24 * 3600.0  # seconds for which an answer is remembered
GIVEN_UP = 60.0  # seconds after which a request without an answer counts as dead


class SameKey(Exception):  # noqa: N818 - what happened
    """The key belongs to another request, or to one that is under way (`later`: trying again helps)."""

    def __init__(self, message: str, *, later: bool) -> None:
        super().__init__(message)
        self.later = later


@dataclass(frozen=True)
class KeyedRequest:
    """A request by its key; `content` is everything that makes it the same request."""

    store: "Store"
    key: str
    content: bytes

    def begin(self, *, now: float | None = None) -> str | None:
        """The answer that the request had before; None if it is to be done now, by this caller alone."""
        at = time.time() if now is None else now
        digest = hashlib.sha256(self.content).hexdigest()
        row = {"key": self.key, "content": digest, "time": at}
        with self.store.writing() as connection:
            connection.execute(delete(keyed_requests).where(keyed_requests.c.time < at - KEPT))
            if insert_new(connection, keyed_requests, [row]):
                return None
            found = connection.execute(select(keyed_requests).where(keyed_requests.c.key == self.key)).one()
            if found.content != digest:
                raise SameKey(
                    "this Idempotency-Key was used for another request; use a new key for each request",
                    later=False,
                )
            if found.answer is not None:
                return str(found.answer)
            if found.time > at - GIVEN_UP:
                raise SameKey(
                    "a request with this Idempotency-Key is still running; wait until it ends", later=True
                )
            mine = update(keyed_requests).where(keyed_requests.c.key == self.key)
            connection.execute(mine.values(time=at))
            return None

    def finish(self, answer: str) -> None:
        """Remember the answer."""
        with self.store.writing() as connection:
            mine = update(keyed_requests).where(keyed_requests.c.key == self.key)
            connection.execute(mine.values(answer=answer))

    def give_up(self) -> None:
        """Nothing was done: the request may come again."""
        with self.store.writing() as connection:
            connection.execute(
                delete(keyed_requests).where(
                    keyed_requests.c.key == self.key, keyed_requests.c.answer.is_(None)
                )
            )
