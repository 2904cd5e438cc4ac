"""What the dashboard can change: which version serves, and which experiments run."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.http.answers import service_of
from rankloop.serve.http.schema_admin import ExperimentRequest
from rankloop.serve.pages.login import Form, form, let_change
from rankloop.serve.pages.rendering import PageRoute

__all__ = ["router"]

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False)

Told = Annotated[Form, Depends(form)]


@router.post("/promote")
def promote(request: Request, told: Told) -> Response:
    """Let a version serve everybody."""
    let_change(request)
    service_of(request).promote(told.get("version", ""))
    return _back()


@router.post("/experiments")
def start(request: Request, told: Told) -> Response:
    """Begin an experiment between two versions."""
    let_change(request)
    share = told.get("share", "")
    if not share.isdecimal() or not 1 <= int(share[:9]) <= 100:
        raise ValueError(f"a share of the people is a whole number from 1 to 100, got {share[:20]!r}")
    asked = {"a": told.get("a"), "b": told.get("b"), "kind": told.get("kind"), "share": int(share) / 100}
    service_of(request).start_experiment(ExperimentRequest.model_validate(asked))
    return _back()


@router.post("/experiments/end")
def end(request: Request, told: Told) -> Response:
    """End an experiment; its verdict stays."""
    let_change(request)
    service_of(request).end_experiment(told.get("experiment", ""))
    return _back()


def _back() -> Response:
    return RedirectResponse("/dashboard", status_code=303)
