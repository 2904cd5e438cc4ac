"""A worker process of `backend="local"`: does one task at a time for the process that started it.

It is started as a command, not forked and not by `multiprocessing`, so scripts need no `if __name__ ==
"__main__"` and threads of the parent are no danger.
"""

import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from rankloop.cluster.backends.versions import here

try:
    import cloudpickle as pickler
except ModuleNotFoundError:  # then tasks must be importable by name
    import pickle as pickler

__all__ = ["Member", "packed", "packed_error", "unpacked"]


def packed(value: Any) -> bytes:
    """A value as bytes for another process, also functions of a script or a notebook."""
    whole: bytes = pickler.dumps(value)
    return whole


def unpacked(whole: bytes) -> Any:
    return pickler.loads(whole)


class Member:
    """A worker of a local team: see `backend.Member`."""

    def __init__(self, rank: int, count: int, pipe: Connection) -> None:
        self.rank, self.count, self._pipe = rank, count, pipe

    def gather(self, value: Any) -> list[Any]:
        """The values of all members, by rank; returns when all have sent theirs."""
        self._pipe.send(("gather", value))
        values: list[Any] = self._pipe.recv()
        return values

    def address(self) -> str:
        """Where the others of its team reach it; all members must call it together."""
        return "127.0.0.1"

    @property
    def machine(self) -> int:
        """The number of the machine it is on: local workers are all on the first."""
        return 0

    def report(self, by: float, note: str = "") -> None:
        """Progress, for the bar of the process that started the job."""
        self._pipe.send(("progress", by, note))


def serve(pipe: Connection) -> None:
    """Run tasks until the other end of the pipe is closed."""
    sys.path[:] = pipe.recv()
    pipe.send(("hello", here()))
    with ThreadPoolExecutor(1) as pool:
        while True:
            whole, rank, count = pipe.recv()
            task, argument = unpacked(whole)
            given = (argument,) if count == 0 else (argument, Member(rank, count, pipe))
            future = pool.submit(task, *given)
            error = future.exception()
            if error is None:
                pipe.send(("done", packed(future.result())))
            else:
                pipe.send(("failed", packed_error(error), "".join(traceback.format_exception(error))))


def packed_error(error: BaseException) -> bytes:
    """The error, or its message where it cannot be pickled."""
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
        os._exit(0)  # the process that started it has ended
