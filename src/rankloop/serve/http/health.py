"""Routes for monitoring: health, readiness, metrics."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from rankloop import __version__
from rankloop.serve.http.answers import json_answer, metrics_of, service_of
from rankloop.serve.http.schema_admin import Health, Readiness
from rankloop.serve.http.tokens import has_token

__all__ = ["router"]

router = APIRouter(tags=["health"])

Admin = Annotated[bool, Depends(has_token)]  # whether the token came with the request


@router.get("/health", response_model=Health)
async def health(admin: Admin) -> Response:
    """Whether the process answers; with the token, which version of rankloop."""
    return json_answer(Health(status="ok", version=__version__ if admin else None))


@router.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}})
async def ready(request: Request, admin: Admin) -> Response:
    """Whether pages can be served and recorded, and whether the database answers.

    With the token it names the version in production and says what is wrong.
    """
    found = service_of(request).readiness()
    shown = found if admin else found.model_copy(update={"ranker": None, "troubles": []})
    return json_answer(shown, 200 if found.ready else 503)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, admin: Admin) -> Response:
    """Counters and gauges for Prometheus; those of each version with the token."""
    found = metrics_of(request)
    return Response(found.text(versions=admin), media_type=found.content_type)
