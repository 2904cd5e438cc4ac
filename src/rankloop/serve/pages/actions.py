"""Changes from the dashboard: which version serves, and which experiments run."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.http.answers import service_of
from rankloop.serve.http.schema_admin import ExperimentRequest
from rankloop.serve.pages.login import Form, form, require_admin
from rankloop.serve.pages.rendering import PageRoute

__all__ = ["router"]

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False)

Fields = Annotated[Form, Depends(form)]


@router.post("/promote")
def promote(request: Request, fields: Fields) -> Response:
    """Let a version serve everybody."""
    require_admin(request)
    service_of(request).versions.promote(fields.get("version", ""))
    return _back()


@router.post("/experiments")
def start(request: Request, fields: Fields) -> Response:
    """Begin an experiment between two versions."""
    require_admin(request)
    share = fields.get("share", "")
    if not share.isdecimal() or not 1 <= int(share[:9]) <= 100:
        raise ValueError(f"a share of the people is a whole number from 1 to 100, got {share[:20]!r}")
    wanted = {
        "a": fields.get("a"),
        "b": fields.get("b"),
        "kind": fields.get("kind"),
        "share": int(share) / 100,
    }
    service_of(request).versions.start_experiment(ExperimentRequest.model_validate(wanted))
    return _back()


@router.post("/experiments/end")
def end(request: Request, fields: Fields) -> Response:
    """End an experiment; its verdict stays."""
    require_admin(request)
    service_of(request).versions.end_experiment(fields.get("experiment", ""))
    return _back()


def _back() -> Response:
    return RedirectResponse("/dashboard", status_code=303)
