"""`backend="local"`: worker processes on this machine."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from rankloop._jit import thread_count
from rankloop._progress import Advance
from rankloop.cluster.backends.lost_worker_error import AGAIN, RETRIES, LostWorkerError, is_transient
from rankloop.cluster.backends.versions import refuse_others
from rankloop.cluster.backends.worker import packed, unpacked

__all__ = ["Local"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
_GONE = (EOFError, ConnectionResetError, BrokenPipeError)


class Local:
    """As many processes as given, or as there are cores for this one."""

    def __init__(self, workers: int | None) -> None:
        self.workers = workers or thread_count()

    def map(
        self, task: Callable[[Any], Any], inputs: Sequence[Any], done: Callable[[int, Any], None]
    ) -> None:
        """`done(index, result)` for each input as it comes; a task whose worker dies is started again."""
        waiting, tries = deque(range(len(inputs))), [0] * len(inputs)
        busy: dict[Connection, tuple[_Process, int]] = {}

        def start(process: "_Process") -> None:
            if not waiting:
                del busy[process.pipe]
                process.release()
                return
            index = waiting.popleft()
            busy[process.pipe] = (process, index)
            process.send((packed((task, inputs[index])), 0, 0))

        try:
            team = [_Process.taken(self.workers) for _ in range(min(self.workers, len(inputs)))]
            busy |= {process.pipe: (process, -1) for process in team}
            for process in team:  # all start while the first is waited for
                process.ready()
                start(process)
            while busy:
                for pipe in wait(list(busy)):
                    assert isinstance(pipe, Connection)
                    process, index = busy[pipe]
                    try:
                        kind, *content = pipe.recv()
                    except _GONE:
                        del busy[pipe]
                        process.kill()
                        tries[index] += 1
                        if tries[index] > RETRIES:
                            raise LostWorkerError(index, len(inputs), tries[index]) from None
                        waiting.appendleft(index)
                        another = _Process.taken(self.workers)
                        busy[another.pipe] = (another, -1)
                        another.ready()
                        start(another)
                        continue
                    if kind == "failed":
                        del busy[pipe]
                        process.release()
                        raise _raised(*content)
                    done(index, unpacked(content[0]))
                    start(process)
        finally:
            for process, _ in busy.values():
                process.kill()

    def together(
        self, task: Callable[..., Any], argument: Any, advance: Advance, *, torch: bool = False
    ) -> Any:
        """`task(argument, member)` in all workers at once; the result of the first.

        When one dies the others cannot continue: all are started again. With `torch` they are numbered like
        the processes of `torchrun`, and find each other by a file: torch's server would listen to everybody.
        """
        for _ in range(RETRIES + 1):
            folder = tempfile.mkdtemp(prefix="rankloop-team-")
            environments = _torchrun(self.workers, folder) if torch else [{} for _ in range(self.workers)]
            team = [_Process(self.workers, one, silent=True) for one in environments]
            members = _Team(team, advance)
            try:
                for process in team:
                    process.ready()
                return members.run(task, argument)
            except LostWorkerError as error:
                lost = error
                advance(-members.reported, AGAIN)
            finally:
                for process in team:
                    process.kill()
                shutil.rmtree(folder, ignore_errors=True)
        raise lost


class _Team:
    """Workers that run one task together."""

    def __init__(self, team: "list[_Process]", advance: Advance) -> None:
        self.members, self.advance = team, advance
        self.ranks = {process.pipe: rank for rank, process in enumerate(team)}
        self.count = len(team)
        self.results: dict[int, bytes] = {}
        self.gathered: dict[int, Any] = {}
        self.reported = 0.0

    def run(self, task: Callable[..., Any], argument: Any) -> Any:
        whole = packed((task, argument))
        for place, process in enumerate(self.members):
            process.send((whole, place, self.count))
        while len(self.results) < self.count:
            for pipe in wait([pipe for pipe, rank in self.ranks.items() if rank not in self.results]):
                assert isinstance(pipe, Connection)
                rank = self.ranks[pipe]
                try:
                    message = pipe.recv()
                except _GONE:
                    raise LostWorkerError(rank, self.count, RETRIES + 1) from None
                self._take(rank, *message)
        return unpacked(self.results[0])

    def _take(self, rank: int, kind: str, *content: Any) -> None:
        if kind == "done":
            self.results[rank] = content[0]
        elif kind == "progress":
            self.reported += content[0]
            self.advance(*content)
        elif kind == "gather":
            self.gathered[rank] = content[0]
            if len(self.gathered) == self.count:
                for process in self.members:
                    process.send([self.gathered[i] for i in range(self.count)])
                self.gathered = {}
        else:
            error = _raised(*content)
            if is_transient(error):
                raise LostWorkerError(rank, self.count, RETRIES + 1) from error
            raise error


class _Process:
    """One worker and the pipe to it; an idle one is reused by the next job."""

    idle: "list[_Process]" = []  # noqa: RUF012 - shared by all jobs on purpose

    def __init__(
        self, workers: int, environment: Mapping[str, str] | None = None, *, silent: bool = False
    ) -> None:
        self.workers = workers
        self.pipe, theirs = Pipe()
        share = str(max(1, thread_count() // workers))
        threads = {name: os.environ.get(name, share) for name in _THREADS}
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rankloop.cluster.backends.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if silent else None,  # where LightGBM logs how it connects
            env={**os.environ, **threads, **path, **(environment or {})},
        )
        theirs.close()
        self.send(sys.path)
        self.up = False

    @classmethod
    def taken(cls, workers: int) -> "_Process":
        """An idle one with as many threads, or a new one."""
        for process in cls.idle:
            if process.workers == workers:
                cls.idle.remove(process)
                if process.process.poll() is None:
                    return process
                process.kill()
                return cls.taken(workers)
        return cls(workers)

    def ready(self) -> None:
        """Wait until it has started, and check its versions."""
        if self.up:
            return
        try:
            _, versions = self.pipe.recv()
        except _GONE:
            code = self.process.wait()
            raise RuntimeError(f"a worker process did not start: it ended with {code}") from None
        refuse_others(versions, "a worker process")
        self.up = True

    def send(self, whole: Any) -> None:
        """A worker that dies meanwhile is no error here: receiving from the pipe finds it gone."""
        with suppress(*_GONE):
            self.pipe.send(whole)

    def release(self) -> None:
        type(self).idle.append(self)

    def kill(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.wait()


@atexit.register
def _end_idle() -> None:
    while _Process.idle:
        _Process.idle.pop().kill()


def _raised(whole: bytes, trace: str) -> BaseException:
    error: BaseException = unpacked(whole)
    error.add_note(f"in a worker process:\n{trace}")
    return error


def _torchrun(count: int, folder: str) -> list[dict[str, str]]:
    """The environment that `torchrun` gives each process, with a place to meet on this machine."""
    place = {"RANKLOOP_MEETING": f"{folder}/meeting"}
    if sys.platform == "linux":
        place["GLOO_SOCKET_IFNAME"] = os.environ.get("GLOO_SOCKET_IFNAME", "lo")
    counts = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    return [{**place, **counts, "RANK": str(i), "LOCAL_RANK": str(i)} for i in range(count)]
