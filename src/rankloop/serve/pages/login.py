"""Login to the dashboard: a token once, then a signed cookie."""

import hashlib
import hmac
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.events.signer import Signer
from rankloop.serve.http.answers import service_of
from rankloop.serve.pages.rendering import PageRoute, page

__all__ = ["Form", "form", "has_token", "login_form", "may_view", "require_admin", "require_view", "router"]

COOKIE = "rankloop_admin"
HOURS = 12

Form = dict[str, str]
router = APIRouter(route_class=PageRoute, include_in_schema=False)


async def form(request: Request) -> Form:
    """The fields of a submitted form."""
    body = await request.body()
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))


def has_token(request: Request) -> bool:
    """Whether the request has the cookie of someone who logged in with the token."""
    token = service_of(request).config.admin_token
    try:
        opened = _signer(request).open(request.cookies.get(COOKIE, ""))
    except ValueError:
        return False
    return bool(token) and hmac.compare_digest(opened, _name(token))


def may_view(request: Request) -> bool:
    """Whether this person may see the dashboard: with the token, or where it is open to all."""
    return service_of(request).config.open_dashboard or has_token(request)


def require_view(request: Request) -> None:
    """Refuse people who may not see the dashboard."""
    if not may_view(request):
        raise PermissionError("this needs the administration token; log in at the dashboard first")


def require_admin(request: Request) -> None:
    """Refuse people without the token; other sites cannot send its cookie."""
    if not has_token(request):
        raise PermissionError("changes need the administration token; log in first")


@router.get("/login")
def login_page(request: Request) -> Response:
    """The form for the token."""
    return login_form(request)


@router.post("/login")
def login(request: Request, fields: Annotated[Form, Depends(form)]) -> Response:
    """Exchange the token for a cookie that scripts and other sites cannot use."""
    wanted = service_of(request).config.admin_token
    given = fields.get("token", "")
    if not wanted or not hmac.compare_digest(given.encode(), wanted.encode()):
        return login_form(request, status=403, wrong="This is not the token.")
    response = RedirectResponse("/dashboard", status_code=303)
    response.set_cookie(
        COOKIE,
        _signer(request).sign(_name(wanted)),
        max_age=HOURS * 3600,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/logout")
def logout(request: Request) -> Response:
    """Delete the cookie."""
    response = RedirectResponse("/", status_code=303)
    response.delete_cookie(COOKIE)
    return response


def login_form(request: Request, *, status: int = 200, wrong: str = "") -> Response:
    """The page that asks for the token."""
    closed = not service_of(request).config.admin_token
    return page(request, "login.html", status=status, closed=closed, wrong=wrong, place="dashboard")


def _signer(request: Request) -> Signer:
    return Signer(service_of(request).config.secret(), HOURS * 3600, purpose="dashboard")


def _name(token: str) -> str:
    """A hash of the token: a new token invalidates older cookies."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]
