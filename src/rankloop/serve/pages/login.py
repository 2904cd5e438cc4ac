"""Login to the dashboard: a token once, then a signed cookie until it ends or is ended."""

import hashlib
import hmac
import secrets
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.events.logins import end_login, is_ended
from rankloop.serve.events.signer import Signer
from rankloop.serve.events.store import StoreAway
from rankloop.serve.events.time_limit import time_limit
from rankloop.serve.http.answers import in_waiting_thread, service_of
from rankloop.serve.http.tokens import is_token
from rankloop.serve.pages.rendering import PageRoute, page

__all__ = [
    "Form",
    "form",
    "form_token",
    "has_token",
    "login_form",
    "may_view",
    "require_admin",
    "require_view",
    "router",
    "shows_versions",
]

COOKIE = "rankloop_admin"
HOURS = 12
PATIENCE = 1.0  # seconds that a page waits for the database only to show more
FORM_TOKEN = "form_token"  # the hidden field of every form that changes something
_LOGIN = 32  # characters

Form = dict[str, str]
router = APIRouter(route_class=PageRoute, include_in_schema=False)


async def form(request: Request) -> Form:
    """The fields of a submitted form."""
    body = await request.body()
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))


def has_token(request: Request) -> bool:
    """Whether the request has the cookie of someone who logged in with the token, and not out."""
    return _login_of(request) is not None


def form_token(request: Request) -> str:
    """What a form must send back: only a page for this login has it."""
    login = _login_of(request)
    return "" if login is None else _signer(request, "form").sign(login)


def may_view(request: Request) -> bool:
    """Whether this person may see the dashboard: with the token, or where it is open to all."""
    return service_of(request).config.open_dashboard or has_token(request)


def shows_versions(request: Request) -> bool:
    """The same for a part of a page that is left out while the database does not answer at once."""
    try:
        with time_limit(PATIENCE):
            return may_view(request)
    except StoreAway:
        return False


def require_view(request: Request) -> None:
    """Refuse people who may not see the dashboard."""
    if not may_view(request):
        raise PermissionError("this needs the administration token; log in at the dashboard first")


def require_admin(request: Request, fields: Form) -> None:
    """Refuse people without the token, and forms that were not made for them."""
    login = _login_of(request)
    if login is None:
        raise PermissionError("changes need the administration token; log in first")
    try:
        made_for = _signer(request, "form").open(fields.get(FORM_TOKEN, ""))
    except ValueError:
        made_for = ""
    if not hmac.compare_digest(made_for, login):
        raise PermissionError("this form is not one of your dashboard; open the dashboard again")


@router.get("/login")
async def login_page(request: Request) -> Response:
    """The form for the token."""
    return login_form(request)


@router.post("/login")
async def login(request: Request, fields: Annotated[Form, Depends(form)]) -> Response:
    """Exchange the token for a cookie that scripts and other sites cannot use."""
    if not is_token(request, fields.get("token", "")):
        return login_form(request, status=403, wrong="This is not the token.")
    name = _name(service_of(request).config.admin_token)
    response = RedirectResponse("/dashboard", status_code=303)
    response.set_cookie(
        COOKIE,
        _signer(request, "dashboard").sign(secrets.token_hex(_LOGIN // 2) + name),
        max_age=HOURS * 3600,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Delete the cookie, and end its login: a copy of it is of no use."""

    def work() -> Response:
        login = _login_of(request)
        if login is not None:
            end_login(service_of(request).store, login, lifetime=HOURS * 3600)
        response = RedirectResponse("/", status_code=303)
        response.delete_cookie(COOKIE)
        return response

    return await in_waiting_thread(request, work)


def login_form(request: Request, *, status: int = 200, wrong: str = "") -> Response:
    """The page that asks for the token."""
    closed = not service_of(request).config.admin_token
    return page(request, "login.html", status=status, closed=closed, wrong=wrong, place="dashboard")


def _login_of(request: Request) -> str | None:
    """The login of the cookie, if it is signed, of the token of now, and not ended."""
    cookie, token = request.cookies.get(COOKIE, ""), service_of(request).config.admin_token
    if not cookie or not token:
        return None
    try:
        opened = _signer(request, "dashboard").open(cookie)
    except ValueError:
        return None
    login, name = opened[:_LOGIN], opened[_LOGIN:]
    if not hmac.compare_digest(name, _name(token)) or is_ended(service_of(request).store, login):
        return None
    return login


def _signer(request: Request, purpose: str) -> Signer:
    return Signer(service_of(request).config.secret(), HOURS * 3600, purpose=purpose)


def _name(token: str) -> str:
    """A hash of the token: a new token invalidates older cookies."""
    return hashlib.sha256(token.encode()).hexdigest()[:32]
