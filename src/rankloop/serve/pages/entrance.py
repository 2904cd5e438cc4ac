"""The door to the dashboard: a token once, then a signed cookie."""

import hashlib
import hmac
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.api_answers import service_of
from rankloop.serve.pages.rendering import PageRoute, page
from rankloop.serve.signing import Signer

__all__ = ["Form", "form", "is_admin", "only_admin", "router"]

COOKIE = "rankloop_admin"
HOURS = 12

Form = dict[str, str]
router = APIRouter(route_class=PageRoute, include_in_schema=False)


async def form(request: Request) -> Form:
    """The fields of a submitted form."""
    body = await request.body()
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))


def is_admin(request: Request) -> bool:
    """Whether the request comes with a valid cookie, or the dashboard is open to all."""
    service = service_of(request)
    if service.config.open_dashboard:
        return True
    try:
        opened = _signer(request).open(request.cookies.get(COOKIE, ""))
    except ValueError:
        return False
    return bool(service.config.admin_token) and hmac.compare_digest(opened, _name(service.config.admin_token))


def only_admin(request: Request) -> None:
    """Refuse everybody else."""
    if not is_admin(request):
        raise PermissionError("this needs the token of administration; open the dashboard first")


@router.post("/login")
def login(request: Request, told: Annotated[Form, Depends(form)]) -> Response:
    """Exchange the token for a cookie that scripts and other sites cannot use."""
    wanted = service_of(request).config.admin_token
    given = told.get("token", "")
    if not wanted or not hmac.compare_digest(given.encode(), wanted.encode()):
        return page(
            request,
            "login.html",
            status=403,
            closed=not wanted,
            wrong="This is not the token.",
            place="dashboard",
        )
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


def _signer(request: Request) -> Signer:
    return Signer(service_of(request).config.secret(), HOURS * 3600, purpose="dashboard")


def _name(token: str) -> str:
    """Another token makes older cookies worthless."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]
