"""Changes from the dashboard: which version serves, and which experiments run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.http.answers import in_waiting_thread, service_of
from rankloop.serve.http.schema_admin import ExperimentRequest
from rankloop.serve.pages.login import Form, form, require_admin
from rankloop.serve.pages.rendering import PageRoute

if TYPE_CHECKING:
    from rankloop.serve.versions import Versions

__all__ = ["router"]

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False)

Fields = Annotated[Form, Depends(form)]


@router.post("/promote")
async def promote(request: Request, fields: Fields) -> Response:
    """Let a version serve everybody."""
    return await _changed(request, fields, lambda versions: versions.promote(fields.get("version", "")))


@router.post("/experiments")
async def start(request: Request, fields: Fields) -> Response:
    """Begin an experiment between two versions."""
    return await _changed(request, fields, lambda versions: versions.start_experiment(_wanted(fields)))


@router.post("/experiments/end")
async def end(request: Request, fields: Fields) -> Response:
    """End an experiment; its verdict stays."""
    id = fields.get("experiment", "")
    return await _changed(request, fields, lambda versions: versions.end_experiment(id))


def _wanted(fields: Form) -> ExperimentRequest:
    share = fields.get("share", "")
    if not share.isdecimal() or not 1 <= int(share[:9]) <= 100:
        raise ValueError(f"a share of the people is a whole number from 1 to 100, got {share[:20]!r}")
    wanted = {
        "a": fields.get("a"),
        "b": fields.get("b"),
        "kind": fields.get("kind"),
        "share": int(share) / 100,
    }
    return ExperimentRequest.model_validate(wanted)


async def _changed(request: Request, fields: Form, change: "Callable[[Versions], object]") -> Response:
    """Make a change that needs the token, and go back to the dashboard."""

    def work() -> Response:
        require_admin(request, fields)
        change(service_of(request).versions)
        return RedirectResponse("/dashboard", status_code=303)

    return await in_waiting_thread(request, work)
