"""Routes for machines that look after machines."""

from fastapi import APIRouter, Request, Response

from rankloop import __version__
from rankloop.serve.http.answers import metrics_of, service_of
from rankloop.serve.http.schema_admin import Health, Readiness

__all__ = ["router"]

router = APIRouter(tags=["health"])


@router.get("/health", response_model=Health)
async def health() -> Response:
    """That the process answers at all."""
    told = Health(status="ok", version=__version__)
    return Response(told.model_dump_json(), media_type="application/json")


@router.get("/ready", response_model=Readiness, responses={503: {"model": Readiness}})
async def ready(request: Request) -> Response:
    """Whether pages can be served and recorded; a database that is away is told, and waited for."""
    told = service_of(request).readiness()
    return Response(
        told.model_dump_json(), status_code=200 if told.ready else 503, media_type="application/json"
    )


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Counters and gauges for Prometheus."""
    told = metrics_of(request)
    return Response(told.text(), media_type=told.content_type)
