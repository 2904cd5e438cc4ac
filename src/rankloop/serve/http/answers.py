"""What all routes share: work in threads, answers as JSON, errors as one sentence, and the token."""

import hmac
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from fastapi import Depends, HTTPException, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rankloop.serve.http.metrics import Metrics
    from rankloop.serve.service import Service

__all__ = [
    "ADMIN",
    "PROBLEMS",
    "RETRY",
    "Problem",
    "call_on_start",
    "in_search_thread",
    "in_waiting_thread",
    "json_answer",
    "metrics_of",
    "only_admin",
    "problems",
    "service_of",
]


RETRY = "5"  # seconds until a request that was answered 503 may succeed


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
    413: "The request is too large.",
    429: "Too many requests: try again after Retry-After seconds.",
    503: "Not available: try again after Retry-After seconds.",
}
PROBLEMS = problems(400, 413, 429, 503)
ADMIN = problems(400, 401, 403, 404, 413, 429, 503)


def service_of(request: Request) -> "Service":
    """The service behind a request."""
    service: Service = request.app.state.service
    return service


def metrics_of(request: Request) -> "Metrics":
    metrics: Metrics = request.app.state.metrics
    return metrics


async def in_search_thread(request: Request, work: Callable[[], BaseModel | Response]) -> Response:
    """Compute beside the event loop, in as many threads as there are cores for.

    More threads would only make each search slower; requests beyond them wait in turn.
    """
    return await to_thread.run_sync(_answer, work, limiter=request.app.state.search_threads)


async def in_waiting_thread(request: Request, work: Callable[[], BaseModel | Response]) -> Response:
    """The same for work that waits for a disk or a database: many may wait at once."""
    return await to_thread.run_sync(_answer, work, limiter=request.app.state.waiting_threads)


def json_answer(answer: BaseModel, status: int = 200) -> Response:
    return Response(answer.model_dump_json(), status, media_type="application/json")


def _answer(work: Callable[[], BaseModel | Response]) -> Response:
    answer = work()
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


_bearer = HTTPBearer(auto_error=False, description="The administration token.")


def only_admin(
    request: Request, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Refuse requests without the administration token."""
    wanted = service_of(request).config.admin_token
    if not wanted:
        raise HTTPException(
            403, "administration is off; start the service with RANKLOOP_ADMIN_TOKEN or admin_token set"
        )
    if sent is None or not hmac.compare_digest(sent.credentials.encode(), wanted.encode()):
        raise HTTPException(
            401,
            "this needs the administration token: Authorization: Bearer ...",
            {"WWW-Authenticate": "Bearer"},
        )
