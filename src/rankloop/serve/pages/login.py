"""The door to the dashboard: a token once, then a signed cookie."""

import hashlib
import hmac
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.events.signer import Signer
from rankloop.serve.http.answers import service_of
from rankloop.serve.pages.rendering import PageRoute, page

__all__ = ["Form", "door", "form", "has_token", "let_change", "let_look", "may_look", "router"]

COOKIE = "rankloop_admin"
HOURS = 12

Form = dict[str, str]
router = APIRouter(route_class=PageRoute, include_in_schema=False)


async def form(request: Request) -> Form:
    """The fields of a submitted form."""
    body = await request.body()
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))


def has_token(request: Request) -> bool:
    """Whether the request comes with the cookie of someone who had the token."""
    token = service_of(request).config.admin_token
    try:
        opened = _signer(request).open(request.cookies.get(COOKIE, ""))
    except ValueError:
        return False
    return bool(token) and hmac.compare_digest(opened, _name(token))


def may_look(request: Request) -> bool:
    """Whether this person may see the dashboard: with the token, or where it is open to all."""
    return service_of(request).config.open_dashboard or has_token(request)


def let_look(request: Request) -> None:
    """Refuse those who may not look."""
    if not may_look(request):
        raise PermissionError("this needs the token of administration; open the dashboard first")


def let_change(request: Request) -> None:
    """Refuse those without the token; other sites cannot send its cookie."""
    if not has_token(request):
        raise PermissionError("changes need the token of administration; log in first")


@router.get("/login")
def login_page(request: Request) -> Response:
    """The form for the token."""
    return door(request)


@router.post("/login")
def login(request: Request, told: Annotated[Form, Depends(form)]) -> Response:
    """Exchange the token for a cookie that scripts and other sites cannot use."""
    wanted = service_of(request).config.admin_token
    given = told.get("token", "")
    if not wanted or not hmac.compare_digest(given.encode(), wanted.encode()):
        return door(request, status=403, wrong="This is not the token.")
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
    """Close the door again."""
    response = RedirectResponse("/", status_code=303)
    response.delete_cookie(COOKIE)
    return response


def door(request: Request, *, status: int = 200, wrong: str = "") -> Response:
    """The page that asks for the token."""
    closed = not service_of(request).config.admin_token
    return page(request, "login.html", status=status, closed=closed, wrong=wrong, place="dashboard")


def _signer(request: Request) -> Signer:
    return Signer(service_of(request).config.secret(), HOURS * 3600, purpose="dashboard")


def _name(token: str) -> str:
    """Another token makes older cookies worthless."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]
