"""How long transactions may take: a database that hangs must not hold the threads that wait for it."""

import math
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from typing import Any

__all__ = ["cut_after", "time_left", "time_limit"]

_END: ContextVar[float] = ContextVar("end of transactions", default=math.inf)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """What this thread asks a store for inside takes so long together, or ends with `StoreAway`.

    >>> with time_limit(5.0), time_limit(60.0):
    ...     time_left() <= 5.0
    True
    >>> time_left()
    inf
    """
    token = _END.set(min(_END.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _END.reset(token)


def time_left() -> float:
    """The seconds that are left for transactions of this thread."""
    return max(0.0, _END.get() - time.monotonic())


@contextmanager
def cut_after(connection: Any, seconds: float) -> Iterator[None]:
    """Interrupt a connection of SQLite or psycopg after so long; a statement that waits for it fails then."""
    if math.isinf(seconds):
        yield
        return
    using, ended = threading.Lock(), threading.Event()

    def cut() -> None:
        with using:
            if not ended.is_set():
                _interrupt(connection)

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with using:  # from here on another may have the connection
            ended.set()
        timer.cancel()


def _interrupt(connection: Any) -> None:
    """End what runs; a server that is stopped reads no request to cancel, so its socket is shut here."""
    if hasattr(connection, "interrupt"):
        connection.interrupt()
        return
    with suppress(Exception), closing(socket.socket(fileno=os.dup(connection.fileno()))) as wire:
        wire.shutdown(socket.SHUT_RDWR)  # a connection that is closed already has no socket
