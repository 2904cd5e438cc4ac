"""The socket of a port, which several workers take connections from, one by one.

Workers import this before they can say that they are alive, so it imports nothing heavy.
"""

import os
import socket
import time
from multiprocessing import reduction
from typing import Any

__all__ = ["Listening", "listening"]

MOMENT = 0.001  # seconds; other events are dealt with meanwhile


class Listening(socket.socket):
    """A socket on which at least `queue` connections may wait, whatever asyncio takes at once.

    With a queue it is one of several workers. Of connections that come together the first worker that wakes
    would take all (of 32 mostly 31 or 32), so who took one leaves the next to the others for a moment.
    """

    queue = 0
    _again = 0.0

    def listen(self, backlog: int = 0, /) -> None:
        super().listen(max(backlog, self.queue))

    def accept(self) -> tuple[socket.socket, Any]:
        if self.queue and time.monotonic() < self._again:
            os.sched_yield()
            raise BlockingIOError
        taken = super().accept()
        self._again = time.monotonic() + MOMENT
        return taken


def listening(host: str, port: int) -> Listening:
    """A socket on the port, or one sentence why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on a socket made with IPPROTO_TCP; without it answers wait 40 ms.
    found = Listening(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        if isinstance(error, OverflowError):
            raise ValueError(f"a port is a number from 0 to 65535, got {port}") from None
        if isinstance(error, socket.gaierror):
            raise ValueError(f"{host!r} is not an address of this machine; try --host 127.0.0.1") from None
        raise ValueError(f"port {port} of {host} is not available ({error.strerror}); try --port 0") from None
    return found


def _to_worker(one: Listening) -> tuple[Any, ...]:
    return _from_parent, (one.family, one.type, one.proto, one.queue, reduction.DupFd(one.fileno()))


def _from_parent(family: int, kind: int, protocol: int, queue: int, handle: Any) -> Listening:
    found = Listening(family, kind, protocol, handle.detach())
    found.queue = queue
    return found


reduction.register(Listening, _to_worker)  # as multiprocessing does it with other sockets
