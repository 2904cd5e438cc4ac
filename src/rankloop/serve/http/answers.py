"""What all routes share: work in threads, answers as JSON, errors as one sentence, and the token."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request, Response
from pydantic import BaseModel

from rankloop.search.deadline import Deadline, DeadlineExceeded
from rankloop.serve.events.address_range import address_range
from rankloop.serve.events.store import StoreAway
from rankloop.serve.events.time_limit import time_limit
from rankloop.serve.http.search_threads import Busy, ClientGone, SearchThreads
from rankloop.serve.json_value import clean_text

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rankloop.serve.http.metrics import Metrics
    from rankloop.serve.service import Service

__all__ = [
    "ADMIN",
    "AWAY",
    "PROBLEMS",
    "RETRY",
    "UNFIT",
    "Problem",
    "address_of",
    "asked_of_store",
    "call_on_start",
    "first_mistake",
    "in_disk_thread",
    "in_search_thread",
    "in_waiting_thread",
    "json_answer",
    "metrics_of",
    "problems",
    "searching",
    "service_of",
    "waiting",
]

Found = TypeVar("Found")

AWAY = "the database does not answer; try again in a moment"  # /ready says where it is, with the token
NO_ENGINE = "the search engine does not answer; try again in a moment"  # the same
UNFIT = "the database cannot hold such a value; leave out zero characters"
RETRY = "5"  # seconds until a request that was answered 503 may succeed
CLIENT_GONE = 499  # as other servers count it
LONGEST_NAME = 100  # of a field in a message
LONG = 0.02  # seconds after which it is worth to see whether a client still waits
_CLEARER = {"extra_forbidden": "there is no such field; leave it out", "missing": "this field is needed"}


class Problem(BaseModel):
    """What went wrong, in one sentence."""

    detail: str


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of error answers."""
    return {status: {"model": Problem, "description": _MEANING[status]} for status in statuses}


_MEANING = {
    400: "The request cannot be answered as it is.",
    401: "The administration token is missing or wrong.",
    403: "Administration is off: the service was started without a token.",
    404: "There is no such thing.",
    408: "The request came too slowly.",
    409: "The Idempotency-Key belongs to another request, or to one under way.",
    413: "The request is too large.",
    422: "The request does not fit the schema.",
    429: "Too many requests: try again after Retry-After seconds.",
    503: "Not available: try again after Retry-After seconds.",
}
PROBLEMS = problems(400, 413, 422, 429, 503)
ADMIN = problems(400, 401, 403, 404, 413, 422, 429, 503)


def service_of(request: Request) -> "Service":
    """The service behind a request."""
    service: Service = request.app.state.service
    return service


def metrics_of(request: Request) -> "Metrics":
    metrics: Metrics = request.app.state.metrics
    return metrics


async def in_search_thread(request: Request, work: Callable[[Deadline], BaseModel | Response]) -> Response:
    """Compute beside the event loop, by `limits.seconds` from now; cancelled when the client disconnects.

    Requests beyond the threads wait in line, and `Busy` is raised where the line is too long.
    """
    threads: SearchThreads = request.app.state.search_threads
    deadline = Deadline(service_of(request).config.limits.seconds)

    def answer() -> Response:
        deadline.check()
        with time_limit(deadline.left):
            return _answer(work(deadline))

    with _watched(request) as gone:
        try:
            return await threads.run(address_range(address_of(request)), answer, deadline=deadline, gone=gone)
        except (ClientGone, DeadlineExceeded):
            if not gone.done():
                raise
            return Response(status_code=CLIENT_GONE)  # nobody reads it, but it is counted


async def in_waiting_thread(request: Request, work: Callable[[], BaseModel | Response]) -> Response:
    """The same for work that waits for the database: many may wait at once, up to `limits.store_seconds`.

    After that the answer is 503, also while the thread cannot end: only so many of them are ever waited for.
    """
    return await asked_of_store(request, lambda: _answer(work()))


async def asked_of_store(request: Request, work: Callable[[], Found]) -> Found:
    """What is found in such a thread."""
    limits, threads = service_of(request).config.limits, request.app.state.store_threads
    _check_line(threads, limits.waiting)
    end = time.monotonic() + limits.store_seconds

    def answer() -> Found:
        with time_limit(end - time.monotonic()):
            return work()

    done = asyncio.ensure_future(to_thread.run_sync(answer, limiter=threads))
    await asyncio.wait({done}, timeout=limits.store_seconds)
    if done.done():
        return done.result()
    done.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody waits for it
    raise StoreAway(f"the database took more than {limits.store_seconds:g} seconds; try again in a moment")


def searching(page: Callable[..., Response]) -> Callable[..., Awaitable[Response]]:
    """A route that answers in a search thread."""

    @wraps(page)
    async def answered(request: Request, **given: Any) -> Response:
        return await in_search_thread(request, lambda deadline: page(request, **given))

    return answered


def waiting(page: Callable[..., Response]) -> Callable[..., Awaitable[Response]]:
    """A route that answers in a thread that may wait for the database."""

    @wraps(page)
    async def answered(request: Request, **given: Any) -> Response:
        return await in_waiting_thread(request, lambda: page(request, **given))

    return answered


async def in_disk_thread(request: Request, work: Callable[[], BaseModel | Response]) -> Response:
    """The same for work that waits for the disk alone, in threads that no database can hold."""
    threads: CapacityLimiter = request.app.state.disk_threads
    _check_line(threads, service_of(request).config.limits.waiting)
    return await to_thread.run_sync(lambda: _answer(work()), limiter=threads)


def _check_line(threads: CapacityLimiter, most: int) -> None:
    waiting = threads.statistics().tasks_waiting
    if waiting >= most:
        raise Busy(f"the service is busy: {waiting} requests wait already; try again in a moment")


def address_of(request: Request) -> str | None:
    """The address of the client; of trusted proxies, the one that they name."""
    return request.client.host if request.client else None


@contextmanager
def _watched(request: Request) -> "Iterator[asyncio.Future[None]]":
    """A future that is done when the client is gone: a task waits for that, if the answer takes long."""
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[None] = loop.create_future()
    tasks: list[asyncio.Task[None]] = []
    timer = loop.call_later(LONG, lambda: tasks.append(loop.create_task(_hung_up(request, gone))))
    try:
        yield gone
    finally:
        timer.cancel()
        for task in tasks:
            task.cancel()


async def _hung_up(request: Request, gone: "asyncio.Future[None]") -> None:
    """Says when the client is gone; what it sends is read already."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set_result(None)


def first_mistake(errors: Sequence[Any]) -> str:
    """The first error of a request as a sentence that does not repeat what was sent.

    >>> first_mistake([{"loc": ("body", "k"), "msg": "Input should be less than or equal to 100"}])
    'k: input should be less than or equal to 100'
    """
    wrong = errors[0]
    where = ".".join(str(part) for part in wrong["loc"][1:])  # the first is "body", "query" or "path"
    message = _CLEARER.get(wrong.get("type", ""), f"{wrong['msg'][:1].lower()}{wrong['msg'][1:]}")
    name = clean_text(where[:LONGEST_NAME])
    return f"{name or 'the request'}: {message}"


def json_answer(answer: BaseModel, status: int = 200) -> Response:
    return Response(answer.model_dump_json(), status, media_type="application/json")


def _answer(answer: BaseModel | Response) -> Response:
    return answer if isinstance(answer, Response) else json_answer(answer)


async def call_on_start(
    app: "ASGIApp", scope: "Scope", receive: "Receive", send: "Send", on_start: "Callable[[Message], None]"
) -> None:
    """Run an app, and call `on_start` with the message that begins its answer before it is sent."""

    def sending(message: "Message") -> Awaitable[None]:
        if message["type"] == "http.response.start":
            on_start(message)
        return send(message)

    await app(scope, receive, sending if scope["type"] == "http" else send)
