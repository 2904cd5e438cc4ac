"""What all routes share: work in threads, answers as JSON, errors as one sentence, and the token."""

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from anyio import to_thread
from fastapi import Depends, HTTPException, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel

if TYPE_CHECKING:
    from rankloop.serve.http.metrics import Metrics
    from rankloop.serve.service import Service

__all__ = [
    "ADMIN",
    "PROBLEMS",
    "Problem",
    "in_thread",
    "in_waiting",
    "metrics_of",
    "only_admin",
    "said",
    "service_of",
]


class Problem(BaseModel):
    """What went wrong, in one sentence."""

    detail: str


def said(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documentation of error answers."""
    return {status: {"model": Problem, "description": _MEANING[status]} for status in statuses}


_MEANING = {
    400: "The request cannot be answered as it is.",
    401: "The token of administration is missing or wrong.",
    403: "Administration is off: the service was started without a token.",
    404: "There is no such thing.",
    413: "The request is too large.",
    429: "Too many requests: come back after Retry-After seconds.",
    503: "Not now: come back after Retry-After seconds.",
}
PROBLEMS = said(400, 413, 429, 503)
ADMIN = said(400, 401, 403, 404, 413, 429, 503)


def service_of(request: Request) -> "Service":
    """The service behind a request."""
    service: Service = request.app.state.service
    return service


def metrics_of(request: Request) -> "Metrics":
    metrics: Metrics = request.app.state.metrics
    return metrics


async def in_thread(request: Request, work: Callable[[], BaseModel]) -> Response:
    """Compute beside the event loop, in as many threads as there are cores for.

    More threads would only make each search slower; who waits here waits in turn.
    """
    return await to_thread.run_sync(_answer, work, limiter=request.app.state.threads)


async def in_waiting(request: Request, work: Callable[[], BaseModel]) -> Response:
    """The same for work that waits for a disk or a database: many may wait at once."""
    return await to_thread.run_sync(_answer, work, limiter=request.app.state.waiting)


def _answer(work: Callable[[], BaseModel]) -> Response:
    return Response(work().model_dump_json(), media_type="application/json")


_bearer = HTTPBearer(auto_error=False, description="The token of administration.")


def only_admin(
    request: Request, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> None:
    """Let those through who have the token of administration."""
    wanted = service_of(request).config.admin_token
    if not wanted:
        raise HTTPException(
            403, "administration is off; start the service with RANKLOOP_ADMIN_TOKEN or admin_token set"
        )
    if sent is None or not hmac.compare_digest(sent.credentials.encode(), wanted.encode()):
        raise HTTPException(
            401,
            "this needs the token of administration: Authorization: Bearer ...",
            {"WWW-Authenticate": "Bearer"},
        )
