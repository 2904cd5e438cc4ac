"""The queries and pages behind a number of the dashboard."""

import time
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response

from rankloop.serve.events.behind import behind
from rankloop.serve.http.answers import service_of, waiting
from rankloop.serve.pages.login import login_form, may_view
from rankloop.serve.pages.rendering import PageRoute, page

__all__ = ["behind_href", "router"]

DAY = 86_400.0
router = APIRouter(route_class=PageRoute, include_in_schema=False)


def behind_href(days: int, **wanted: Any) -> str:
    """The address of what is behind a number.

    >>> behind_href(7, version="v2", clicked=1)
    '/dashboard/pages?days=7&version=v2&clicked=1'
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    return "/dashboard/pages?" + urlencode({"days": days, **given})


@router.get("/dashboard/pages")
@waiting
def behind_page(request: Request) -> Response:
    """Queries by number of pages, and the last pages with what was clicked."""
    if not may_view(request):
        return login_form(request, status=401)
    given = request.query_params
    days = min(max(_whole(given.get("days", "30"), "days"), 1), 3660)
    position = given.get("position")
    clicked = given.get("clicked")
    wanted: dict[str, Any] = {
        "ranker": given.get("version", ""),
        "query": given.get("q"),
        "clicked": None if clicked not in ("0", "1") else clicked == "1",
        "position": None if not position else _whole(position, "position"),
    }
    found = behind(service_of(request).store, since=time.time() - days * DAY, **wanted)
    return page(request, "behind.html", place="dashboard", found=found, days=days, **wanted)


def _whole(text: str, name: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise ValueError(f"{name} is a whole number, got {text[:20]!r}")
    return int(text)
