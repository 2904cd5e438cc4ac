"""Threads for searches: few at once, a bounded line before them, and turns that are fair to each client."""

import asyncio
import math
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, TypeVar

from rankloop.search.deadline import Deadline

__all__ = ["Busy", "ClientGone", "SearchThreads"]

RECENT = 10.0  # seconds: who searched within them is here
FADES = 2.5  # seconds: use of processors fades at this pace
SHARE = 0.25  # of a processor, in the long run, while others are here
COSTLY = 8.0  # times over that a search counts at most, if it costs that much more than those of others
COMPARED = 64  # clients whose searches tell what is usual
HEAVY = 0.5  # of the use that is allowed while others are here: above it a client lets lighter ones go first
LIGHTER = 3.0  # times less use makes a client a lighter one
PAUSE = 0.05  # seconds that it waits at most between two pieces of its work
MOST_CLIENTS = 10_000  # whose use is remembered

_Answer = TypeVar("_Answer")


class Busy(Exception):  # noqa: N818 - what happened, not a mistake of anybody
    """Too many searches wait already."""


class ClientGone(Exception):  # noqa: N818
    """The client disconnected before its answer was ready."""


class SearchThreads:
    """Runs searches in `threads` threads; `waiting` more wait in line, and any beyond them are `Busy`.

    More threads than cores would only make each search slower. The next turn goes to the client that used
    processors least lately. While others are here, a client has a quarter of the threads, in the long run a
    quarter of a processor for every four of them, and half of the line. A search that costs n times as much
    as those of the others counts n times over: one with costly searches delays itself. Who used half of its
    share lets others go first that used much less: its next search starts when none of theirs runs, and one
    that runs pauses where its deadline is checked.
    """

    def __init__(self, threads: int, waiting: int) -> None:
        self.threads, self.waiting = threads, waiting
        self._pool = ThreadPoolExecutor(threads, "rankloop-search")
        self._running: Counter[str] = Counter()
        self._at_work: list[_AtWork] = []
        self._line: dict[str, deque[asyncio.Future[None]]] = {}
        self._used: OrderedDict[str, _Use] = OrderedDict()
        self._most_lately = FADES * max(1, threads // 4) * SHARE
        self._look_again: asyncio.TimerHandle | None = None

    @property
    def in_line(self) -> int:
        """How many searches wait."""
        return sum(len(one) for one in self._line.values())

    async def run(
        self, client: str, work: Callable[[], _Answer], *, deadline: Deadline, gone: "asyncio.Future[None]"
    ) -> _Answer:
        """The result of `work` in a thread, once it is this client's turn.

        When `gone` is done the deadline is cancelled, and a search that still waits leaves the line.
        """
        await self._turn(client, deadline, gone)
        cost = _Cost()
        gone.add_done_callback(lambda _: deadline.cancel())
        here = _AtWork(client)
        deadline.give_way = here.pause
        self._at_work.append(here)
        self._who_gives_way()
        try:
            return await self._in_thread(lambda: cost.of(work))
        finally:
            self._at_work.remove(here)
            self._end(client, cost.seconds)
            self._who_gives_way()

    async def _in_thread(self, work: Callable[[], _Answer]) -> _Answer:
        """The result of work in a thread; a task that is cancelled waits until the work ends."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        answer: asyncio.Future[_Answer] = loop.create_future()

        def tell(how: Callable[[Any], None], outcome: Any) -> None:
            ended.set()
            if not answer.done():  # it is cancelled with the task
                how(outcome)

        def run() -> None:
            try:
                found = work()
            except BaseException as error:
                loop.call_soon_threadsafe(tell, answer.set_exception, error)
            else:
                loop.call_soon_threadsafe(tell, answer.set_result, found)

        self._pool.submit(run)
        try:
            return await answer
        except asyncio.CancelledError:
            await ended.wait()
            raise

    def _who_gives_way(self) -> None:
        """Have the searches of heavy clients pause while those of lighter ones run."""
        for one in self._at_work:
            if self._lighter_runs(one.client):
                one.may_go_on.clear()
            else:
                one.may_go_on.set()

    def _lighter_runs(self, client: str) -> bool:
        """Whether a search runs of a client that used much less than a heavy one."""
        used = self._lately(client)
        if used <= HEAVY * self._most_lately:
            return False
        return any(LIGHTER * self._lately(one) < used for one in self._running if one != client)

    async def _turn(self, client: str, deadline: Deadline, gone: "asyncio.Future[None]") -> None:
        self._use(client, 0.0)
        if self._running.total() < self.threads and self._may_run(client):
            self._running[client] += 1
            return
        mine = self._line.get(client, ())
        if self.in_line >= self.waiting or (self._others(client) and len(mine) >= max(1, self.waiting // 2)):
            raise Busy(f"the service is busy: {self.in_line} searches wait already; try again in a moment")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line.setdefault(client, deque()).append(turn)
        self._admit()
        left = None if math.isinf(deadline.left) else deadline.left
        try:
            await asyncio.wait({turn, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._leave(client, turn)
            raise
        if not turn.done():
            self._leave(client, turn)
            if gone.done():
                raise ClientGone
            raise Busy("the service is busy: no search thread became free in time; try again in a moment")

    def _leave(self, client: str, turn: "asyncio.Future[None]") -> None:
        if turn.done():  # the turn came just now: give it to the next
            self._end(client)
            return
        self._line[client].remove(turn)
        if not self._line[client]:
            del self._line[client]

    def _end(self, client: str, cost: float = 0.0) -> None:
        """Give the thread to the next; `cost` is the processor time of the search."""
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        times = min(max(1.0, cost / self._usual_cost(client)), COSTLY)
        self._use(client, cost * times)
        if cost > 0:
            use = self._used[client]
            use.cost = cost if math.isnan(use.cost) else 0.9 * use.cost + 0.1 * cost
        self._admit()

    def _usual_cost(self, client: str) -> float:
        """The median processor time of a search over the other clients that are here."""
        now = time.monotonic()
        found: list[float] = []
        for name in reversed(self._used):
            use = self._used[name]
            if now - use.at > RECENT or len(found) == COMPARED:
                break
            if name != client and not math.isnan(use.cost):
                found.append(use.cost)
        return median_low(found) if found else math.inf

    def _admit(self) -> None:
        """Give free threads to those in line; who used too much lately is looked at again when it faded."""
        while self._running.total() < self.threads:
            ready = [one for one in self._line if self._may_run(one)]
            if not ready:
                break
            chosen = min(ready, key=self._lately)
            turn = self._line[chosen].popleft()
            if not self._line[chosen]:
                del self._line[chosen]
            self._running[chosen] += 1
            turn.set_result(None)
        if self._look_again is not None:
            self._look_again.cancel()
            self._look_again = None
        used = [self._lately(one) for one in self._line if not self._running[one]]  # others end by themselves
        if used and self._running.total() < self.threads:
            fades = FADES * math.log(max(min(used) / self._most_lately, 1.0))
            again = asyncio.get_running_loop().call_later
            self._look_again = again(min(max(fades, 0.005), RECENT), self._admit)

    def _may_run(self, client: str) -> bool:
        if not self._others(client):
            return self._running[client] < self.threads
        most = max(1, self.threads // 4)
        if self._running[client] >= most or self._lately(client) > self._most_lately:
            return False
        return not self._lighter_runs(client)

    def _others(self, client: str) -> bool:
        """Whether anybody else searched lately."""
        for one in reversed(self._used):
            if one != client:
                return time.monotonic() - self._used[one].at < RECENT
        return False

    def _lately(self, client: str) -> float:
        """Processor time that a client used; older one counts less."""
        use = self._used.get(client)
        return 0.0 if use is None else use.seconds * math.exp((use.at - time.monotonic()) / FADES)

    def _use(self, client: str, seconds: float) -> None:
        use = self._used.setdefault(client, _Use())
        use.seconds, use.at = self._lately(client) + seconds, time.monotonic()
        self._used.move_to_end(client)
        if len(self._used) > MOST_CLIENTS:
            self._used.popitem(last=False)


@dataclass
class _Use:
    """What a client used: processor time as of a moment, and that of one of its searches."""

    seconds: float = 0.0
    at: float = 0.0
    cost: float = math.nan


@dataclass(eq=False)
class _AtWork:
    """A search in a thread, and whether it may go on."""

    client: str
    may_go_on: threading.Event = field(default_factory=threading.Event)

    def pause(self) -> None:
        """Called in its thread."""
        if not self.may_go_on.is_set():
            self.may_go_on.wait(PAUSE)


class _Cost:
    """The processor time of a thread for a piece of work, also of one that fails."""

    seconds = 0.0

    def of(self, work: Callable[[], _Answer]) -> _Answer:
        start = time.thread_time()
        try:
            return work()
        finally:
            self.seconds = time.thread_time() - start
