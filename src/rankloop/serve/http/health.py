"""Routes for monitoring: health, readiness, metrics."""

from fastapi import APIRouter, Request, Response

from rankloop import __version__
from rankloop.serve.http.answers import json_answer, metrics_of, service_of
from rankloop.serve.http.schema_admin import Health, Readiness

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/health", response_model=Health)
async def health() -> Response:
    """Whether the process answers."""
    return json_answer(Health(status="ok", version=__version__))


@router.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}})
async def ready(request: Request) -> Response:
    """Whether pages can be served and recorded; it reports a database that does not answer."""
    found = service_of(request).readiness()
    return json_answer(found, 200 if found.ready else 503)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Counters and gauges for Prometheus."""
    found = metrics_of(request)
    return Response(found.text(), media_type=found.content_type)
