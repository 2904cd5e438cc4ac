"""A worker process of `backend="local"`: does one task at a time for the process that started it.

It is started as a command, not forked and not by `multiprocessing`: scripts need no `if __name__ ==
"__main__"`, and threads of the parent do no harm.
"""

import os
import socket
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from rankloop.cluster.backends.versions import here

try:
    import cloudpickle as pickler
except ModuleNotFoundError:  # then functions must be importable by their names
    import pickle as pickler

__all__ = ["Member", "held_port", "packed", "packed_error", "unpacked"]


def packed(value: Any) -> bytes:
    """For another process, functions of a script or a notebook included."""
    whole: bytes = pickler.dumps(value)
    return whole


def unpacked(whole: bytes) -> Any:
    return pickler.loads(whole)


class Member:
    """What a task of several workers at once sees of the others: who it is, and a way to meet them."""

    def __init__(self, rank: int, count: int, line: Connection) -> None:
        self.rank, self.count, self._line = rank, count, line

    def meet(self, value: Any) -> list[Any]:
        """What every member brings, by rank; nobody goes on before all are there."""
        self._line.send(("meet", value))
        met: list[Any] = self._line.recv()
        return met

    def network(self) -> dict[str, Any]:
        """LightGBM's parameters for a team on this machine; every member must ask at the same time."""
        with held_port() as port:
            machines = ",".join(f"127.0.0.1:{one}" for one in self.meet(port))
        return {"machines": machines, "local_listen_port": port, "num_machines": self.count}

    @property
    def machine(self) -> int:
        """The number of the machine it is on: local workers are all on the first."""
        return 0

    def tell(self, by: float, note: str = "") -> None:
        """Progress, for the bar of the process that waits."""
        self._line.send(("progress", by, note))


def serve(line: Connection) -> None:
    """Tasks until the other end of the line is gone."""
    sys.path[:] = line.recv()
    line.send(("hello", here()))
    with ThreadPoolExecutor(1) as pool:
        while True:
            whole, rank, count = line.recv()
            task, argument = unpacked(whole)
            given = (argument,) if count == 0 else (argument, Member(rank, count, line))
            future = pool.submit(task, *given)
            error = future.exception()
            if error is None:
                line.send(("done", packed(future.result())))
            else:
                line.send(("failed", packed_error(error), "".join(traceback.format_exception(error))))


@contextmanager
def held_port() -> Iterator[int]:
    """A free port, which nobody else on the machine is given while the block runs."""
    with socket.socket() as holder:
        holder.bind(("", 0))
        yield int(holder.getsockname()[1])


def packed_error(error: BaseException) -> bytes:
    """The error, or its words where it cannot be sent."""
    try:
        whole = packed(error)
        unpacked(whole)
    except (TypeError, AttributeError, ValueError):
        return packed(RuntimeError(f"{type(error).__name__}: {error}"))
    return whole


if __name__ == "__main__":
    try:
        serve(Connection(int(sys.argv[1])))
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        os._exit(0)  # who asked has gone
