"""Connections of clients: how many are open, and how long they may take to ask and to listen."""

import asyncio
import resource
from collections import OrderedDict
from typing import Any, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from rankloop.serve.events.address_range import address_range
from rankloop.serve.http.bounded_requests import BoundedRequests

__all__ = ["KEPT_FILES", "ConnectionProtocol", "OpenConnections"]

KEPT_FILES = 128  # file descriptors for the index, the store and the spool
SLOWEST_READER = 30.0  # seconds in which a client takes some of its answer
AT_ONCE = 16 << 10  # bytes of one client that are looked at before it is the turn of others

_Base: Any = H11Protocol


class Connection(Protocol):
    """What is counted."""

    @property
    def asked(self) -> bool:
        """Whether a request has come whole and is being answered."""

    def hang_up(self) -> None: ...


class OpenConnections:
    """At most `most` connections: for one more, the address range with most of them loses its oldest.

    Of its connections those go first on which no whole request has come, then those of other ranges that have
    an equal share at least. If all of these are being answered, the oldest of a range that has more than the
    new one's goes, else the new one. `header_seconds` is the time in which the head of a request must have
    come.
    """

    def __init__(self, most: int, header_seconds: float) -> None:
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.most = max(1, min(most, files - KEPT_FILES))
        self.header_seconds = header_seconds
        self._by_range: dict[str, OrderedDict[int, Connection]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, connection: Connection, where: str) -> None:
        """Count a connection, and close another one where there are too many."""
        self._by_range.setdefault(where, OrderedDict())[id(connection)] = connection
        self._count += 1
        if self._count > self.most:
            self._one_to_close(connection, where).hang_up()

    def remove(self, connection: Connection, where: str) -> None:
        """A connection that was closed; closing it again changes nothing."""
        found = self._by_range.get(where, OrderedDict())
        if found.pop(id(connection), None) is not None:
            self._count -= 1
        if not found:
            self._by_range.pop(where, None)

    def _one_to_close(self, newest: Connection, where: str) -> Connection:
        ranges = sorted(self._by_range.values(), key=len, reverse=True)
        share = self._count / len(ranges)
        for connections in ranges:
            if len(connections) < share:
                break
            for one in connections.values():
                if not one.asked and one is not newest:
                    return one
        if len(ranges[0]) > len(self._by_range[where]):
            return next(iter(ranges[0].values()))
        return newest


class ConnectionProtocol(_Base):  # type: ignore[misc]  # a base of any type
    """A connection that counts as one of `OpenConnections`, which the app keeps in its lifespan state.

    It is uvicorn's with the parser h11, also where a faster one is installed: all read requests alike, and
    this one lets their parts be counted.
    """

    _head: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    _where = ""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.conn = BoundedRequests()

    @property
    def asked(self) -> bool:
        """Whether a request has come whole and is being answered."""
        return self._has_head and not self.cycle.more_body

    @property
    def _has_head(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def hang_up(self) -> None:
        """Close it at once."""
        self._uncount()
        self.transport.abort()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.max_size = AT_ONCE  # what asyncio reads at once, by default 256 kB
        self._where = address_range(self.client[0] if self.client else None)
        if self._open is not None:
            self._open.add(self, self._where)
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._uncount()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._has_head:
            self._stop("_head")
        elif self._head is None and not self.transport.is_closing():
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:  # it was answered before all of it came
            self.hang_up()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader = self.loop.call_later(SLOWEST_READER, self.hang_up)

    def resume_writing(self) -> None:
        self._stop("_reader")
        super().resume_writing()

    @property
    def _open(self) -> OpenConnections | None:
        found: OpenConnections | None = self.app_state.get("connections")
        return found

    def _await_head(self) -> None:
        assert self._open is not None
        self._head = self.loop.call_later(self._open.header_seconds, self.hang_up)

    def _stop(self, timer: str) -> None:
        running: asyncio.TimerHandle | None = getattr(self, timer)
        if running is not None:
            running.cancel()
            setattr(self, timer, None)

    def _uncount(self) -> None:
        self._stop("_head")
        self._stop("_reader")
        if self._open is not None:
            self._open.remove(self, self._where)
