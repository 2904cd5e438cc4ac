"""The dashboard, which needs the token."""

import re

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from rankloop.serve.http.answers import in_waiting_thread, service_of, waiting
from rankloop.serve.models.shared_files import SharedFiles
from rankloop.serve.pages.login import (
    Form,
    form_token,
    has_token,
    login_form,
    may_view,
    require_view,
    user_of,
)
from rankloop.serve.pages.overview import overview
from rankloop.serve.pages.rendering import PageRoute, page

__all__ = ["dashboard_page", "router"]

SPANS = (1, 7, 30, 90)
_REPORT = re.compile(r"[\w-][\w.-]*\.html")
_SELF_CONTAINED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/dashboard")
async def dashboard(request: Request) -> Response:
    """Traffic, versions, experiments, learning runs, and troubles."""
    return await in_waiting_thread(request, lambda: dashboard_page(request))


@router.get("/reports/{name}")
@waiting
def report(request: Request, name: str) -> Response:
    """A report that learning wrote."""
    require_view(request)
    service = service_of(request)
    known = _REPORT.fullmatch(name) is not None
    path = SharedFiles(service.store, service.config.home / "reports").get(name) if known else None
    if path is None or not path.is_file():
        raise LookupError(f"there is no report {name[:100]!r}")
    headers = {"Content-Security-Policy": _SELF_CONTAINED}
    return HTMLResponse(path.read_text(encoding="utf-8"), headers=headers)


def dashboard_page(
    request: Request, *, typed: Form | None = None, wrong: str = "", panel: str = "", status: int = 200
) -> Response:
    """The dashboard; after a mistake in the form of a panel, with what was typed."""
    service = service_of(request)
    if not may_view(request):
        return login_form(request, status=401)
    days = request.query_params.get("days", "")
    chosen = int(days) if days in map(str, SPANS) else 30
    who = user_of(request)
    return page(
        request,
        "dashboard.html",
        status=status,
        place="dashboard",
        spans=SPANS,
        token=who is not None,
        who=who,
        form_token=form_token(request),
        administered=bool(service.config.admin_token) or service.has_users(),
        roles=service.registry.roles(),
        typed=typed or {},
        wrong=wrong,
        wrong_in=panel,
        shown=overview(service, chosen, changing=has_token(request)),
    )
