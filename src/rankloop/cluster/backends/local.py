"""`backend="local"`: worker processes on this machine."""

import atexit
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from rankloop._jit import thread_count
from rankloop._progress import Advance
from rankloop.cluster.backends.failures import AGAIN, RETRIES, LostWorkerError, passing
from rankloop.cluster.backends.versions import refuse_others
from rankloop.cluster.backends.worker import held_port, packed, unpacked

__all__ = ["Local"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
_GONE = (EOFError, ConnectionResetError, BrokenPipeError)


class Local:
    """As many processes as asked for, or as this one may use cores."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers or thread_count()

    def map(
        self, task: Callable[[Any], Any], inputs: Sequence[Any], done: Callable[[int, Any], None]
    ) -> None:
        """`done(index, result)` for each input as it comes; a task whose worker dies is begun again."""
        waiting, tries = deque(range(len(inputs))), [0] * len(inputs)
        busy: dict[Connection, tuple[_Process, int]] = {}

        def start(process: "_Process") -> None:
            if not waiting:
                del busy[process.line]
                process.rest()
                return
            index = waiting.popleft()
            busy[process.line] = (process, index)
            process.send((packed((task, inputs[index])), 0, 0))

        try:
            team = [_Process.taken(self.workers) for _ in range(min(self.workers, len(inputs)))]
            busy |= {process.line: (process, -1) for process in team}
            for process in team:  # all are starting while the first is waited for
                process.ready()
                start(process)
            while busy:
                for line in wait(list(busy)):
                    assert isinstance(line, Connection)
                    process, index = busy[line]
                    try:
                        kind, *said = line.recv()
                    except _GONE:
                        del busy[line]
                        process.kill()
                        tries[index] += 1
                        if tries[index] > RETRIES:
                            raise LostWorkerError(index, len(inputs), tries[index]) from None
                        waiting.appendleft(index)
                        another = _Process.taken(self.workers)
                        busy[another.line] = (another, -1)
                        another.ready()
                        start(another)
                        continue
                    if kind == "failed":
                        del busy[line]
                        process.rest()
                        raise _raised(*said)
                    done(index, unpacked(said[0]))
                    start(process)
        finally:
            for process, _ in busy.values():
                process.kill()

    def together(
        self, task: Callable[..., Any], argument: Any, advance: Advance, *, torch: bool = False
    ) -> Any:
        """`task(argument, member)` in all workers at once; the result of the first.

        When one dies the others cannot go on: all are begun again. With `torch` they find each other as the
        processes of `torchrun` do.
        """
        for _ in range(RETRIES + 1):
            told = _torchrun(self.workers) if torch else [{} for _ in range(self.workers)]
            team = [_Process(self.workers, one, silent=True) for one in told]
            members = _Team(team, advance)
            try:
                for process in team:
                    process.ready()
                return members.run(task, argument)
            except LostWorkerError as error:
                lost = error
                advance(-members.told, AGAIN)
            finally:
                for process in team:
                    process.kill()
        raise lost


class _Team:
    """Workers that do one thing together."""

    def __init__(self, team: "list[_Process]", advance: Advance) -> None:
        self.members, self.advance = team, advance
        self.lines = {process.line: rank for rank, process in enumerate(team)}
        self.count = len(team)
        self.results: dict[int, bytes] = {}
        self.met: dict[int, Any] = {}
        self.told = 0.0

    def run(self, task: Callable[..., Any], argument: Any) -> Any:
        whole = packed((task, argument))
        for place, process in enumerate(self.members):
            process.send((whole, place, self.count))
        while len(self.results) < self.count:
            for line in wait([line for line, rank in self.lines.items() if rank not in self.results]):
                assert isinstance(line, Connection)
                rank = self.lines[line]
                try:
                    said = line.recv()
                except _GONE:
                    raise LostWorkerError(rank, self.count, RETRIES + 1) from None
                self._take(rank, *said)
        return unpacked(self.results[0])

    def _take(self, rank: int, kind: str, *said: Any) -> None:
        if kind == "done":
            self.results[rank] = said[0]
        elif kind == "progress":
            self.told += said[0]
            self.advance(*said)
        elif kind == "meet":
            self.met[rank] = said[0]
            if len(self.met) == self.count:
                for process in self.members:
                    process.send([self.met[i] for i in range(self.count)])
                self.met = {}
        else:
            error = _raised(*said)
            if passing(error):
                raise LostWorkerError(rank, self.count, RETRIES + 1) from error
            raise error


class _Process:
    """One worker and the line to it; one that rests is taken again by the next job."""

    resting: "list[_Process]" = []  # noqa: RUF012 - shared by all, that is the point

    def __init__(
        self, workers: int, environment: Mapping[str, str] | None = None, *, silent: bool = False
    ) -> None:
        self.workers = workers
        self.line, theirs = Pipe()
        share = str(max(1, thread_count() // workers))
        threads = {name: os.environ.get(name, share) for name in _THREADS}
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rankloop.cluster.backends.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if silent else None,  # LightGBM tells there how it connects
            env={**os.environ, **threads, **path, **(environment or {})},
        )
        theirs.close()
        self.send(sys.path)
        self.up = False

    @classmethod
    def taken(cls, workers: int) -> "_Process":
        """One that rests and has as many threads, or a new one."""
        for process in cls.resting:
            if process.workers == workers:
                cls.resting.remove(process)
                if process.process.poll() is None:
                    return process
                process.kill()
                return cls.taken(workers)
        return cls(workers)

    def ready(self) -> None:
        """Wait until it is up, and see that it runs the same versions."""
        if self.up:
            return
        try:
            _, versions = self.line.recv()
        except _GONE:
            code = self.process.wait()
            raise RuntimeError(f"a worker process did not start: it ended with {code}") from None
        refuse_others(versions, "a worker process")
        self.up = True

    def send(self, whole: Any) -> None:
        """To a worker that dies over it nothing is said: who listens to the line finds it gone."""
        with suppress(*_GONE):
            self.line.send(whole)

    def rest(self) -> None:
        type(self).resting.append(self)

    def kill(self) -> None:
        self.line.close()
        self.process.kill()
        self.process.wait()


@atexit.register
def _send_home() -> None:
    while _Process.resting:
        _Process.resting.pop().kill()


def _raised(whole: bytes, trace: str) -> BaseException:
    error: BaseException = unpacked(whole)
    error.add_note(f"in a worker process:\n{trace}")
    return error


def _torchrun(count: int) -> list[dict[str, str]]:
    """The environment in which `torchrun` would start each process."""
    with held_port() as port:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    counts = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    return [{**meeting, **counts, "RANK": str(i), "LOCAL_RANK": str(i)} for i in range(count)]
