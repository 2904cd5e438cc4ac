"""Login to the desk: a token once, then a signed cookie until it ends or is ended."""

import hmac
import re
import secrets
from typing import Annotated, NamedTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.desk.users import ADMIN, User, hashed, known_users
from rankloop.serve.events.logins import end_login, is_ended
from rankloop.serve.events.signer import Signer
from rankloop.serve.events.store import StoreAway
from rankloop.serve.events.time_limit import time_limit
from rankloop.serve.http.answers import in_waiting_thread, service_of, waiting
from rankloop.serve.http.tokens import user_of_given
from rankloop.serve.pages.rendering import PageRoute, here, page

__all__ = [
    "Form",
    "form_token",
    "has_token",
    "login_form",
    "may_view",
    "require_admin",
    "require_role",
    "require_view",
    "router",
    "shows_versions",
    "user_of",
]

COOKIE = "rankloop_admin"
HOURS = 12
PATIENCE = 1.0  # seconds that a page waits for the database only to show more
FORM_TOKEN = "form_token"  # the hidden field of every form that changes something
_WITHIN = re.compile(
    r"/(?![/\\]|log(?:in|out)\b)[^\\\x00-\x1f\x7f]{,2000}"
)  # the path of a page of this service
_LOGIN, _HASH = 32, 32  # characters; with the hash, a new token invalidates older cookies

router = APIRouter(route_class=PageRoute, include_in_schema=False)


async def _form(request: Request) -> dict[str, str]:
    body = await request.body()
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=20))


Form = Annotated[dict[str, str], Depends(_form)]  # the fields of a submitted form


class _Login(NamedTuple):
    id: str
    user: User


def user_of(request: Request) -> User | None:
    """Who logged in with a token, and not out."""
    found = _login_of(request)
    return None if found is None else found.user


def has_token(request: Request) -> bool:
    """Whether an administrator is logged in."""
    found = user_of(request)
    return found is not None and found.may("admin")


def form_token(request: Request) -> str:
    """What a form must send back: only a page for this login has it."""
    found = _login_of(request)
    return "" if found is None else _signer(request, "form").sign(found.id)


def may_view(request: Request) -> bool:
    """Whether this person may see the dashboard: with a token, or where it is open to all."""
    return service_of(request).config.open_dashboard or user_of(request) is not None


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
        raise PermissionError("this needs a token; log in at the dashboard first")


def require_admin(request: Request, fields: Form) -> User:
    """Refuse people who are not administrators, and forms that were not made for them."""
    return require_role(request, fields, "admin")


def require_role(request: Request, fields: Form, role: str) -> User:
    """The person who sent a form, if their role allows it and the form was made for them."""
    found = _login_of(request)
    if found is None:
        raise PermissionError("changes need a token; log in first")
    if not found.user.may(role):
        raise PermissionError(f"this needs the role {role!r}, and {found.user.name} is a {found.user.role}")
    try:
        made_for = _signer(request, "form").open(fields.get(FORM_TOKEN, ""))
    except ValueError:
        made_for = ""
    if not hmac.compare_digest(made_for, found.id):
        raise PermissionError("this form does not belong to your login; open the dashboard again")
    return found.user


@router.get("/login")
@waiting
def login_page(request: Request) -> Response:
    """The form for the token; `back` is the page that it was asked for on."""
    return login_form(request, back=request.query_params.get("back", ""))


@router.post("/login")
async def login(request: Request, fields: Form) -> Response:
    """Exchange a token for a cookie that scripts and other sites cannot use."""
    given = fields.get("token", "")
    found = await user_of_given(request, given)
    if found is None:
        wrong = "This is not the token."
        back = fields.get("back", "")
        return await in_waiting_thread(
            request, lambda: login_form(request, status=403, wrong=wrong, back=back)
        )
    usual = "/dashboard" if found.may("admin") else "/judge"
    response = RedirectResponse(_within(fields.get("back", "")) or usual, status_code=303)
    login = secrets.token_hex(_LOGIN // 2) + hashed(given)[:_HASH] + found.name.encode().hex()
    response.set_cookie(
        COOKIE,
        _signer(request, "dashboard").sign(login),
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
        found = _login_of(request)
        if found is not None:
            end_login(service_of(request).store, found.id, lifetime=HOURS * 3600)
        response = RedirectResponse("/", status_code=303)
        response.delete_cookie(COOKIE)
        return response

    return await in_waiting_thread(request, work)


def login_form(request: Request, *, status: int = 200, wrong: str = "", back: str | None = None) -> Response:
    """The page that asks for the token, and leads `back`: to the page in whose place it is shown."""
    service = service_of(request)
    closed = not service.config.admin_token and not service.has_users()
    back = _within(here(request) if back is None else back)
    shown = {"closed": closed, "wrong": wrong, "back": back, "place": "dashboard", "desk": False}
    return page(request, "login.html", status=status, **shown)


def _within(place: str) -> str:
    """A page of this service to go back to; empty for all else, so that no link leads elsewhere."""
    return place if _WITHIN.fullmatch(place) else ""


def _login_of(request: Request) -> _Login | None:
    """The login of the cookie, if it is signed, of a token of now, and not ended."""
    cookie, service = request.cookies.get(COOKIE, ""), service_of(request)
    if not cookie:
        return None
    try:
        opened = _signer(request, "dashboard").open(cookie)
    except ValueError:
        return None
    login, rest = opened[:_LOGIN], opened[_LOGIN:]
    name = bytes.fromhex(rest[_HASH:]).decode()
    if name == ADMIN:
        token = service.config.admin_token
        wanted, user = hashed(token) if token else "", User(ADMIN, "admin")
    else:
        user = next((one for one in known_users(service.store) if one.name == name), User("", "reader"))
        wanted = user.token
    if not wanted or not hmac.compare_digest(rest[:_HASH], wanted[:_HASH]):
        return None
    return None if is_ended(service.store, login) else _Login(login, user)


def _signer(request: Request, purpose: str) -> Signer:
    return Signer(service_of(request).config.secret(), HOURS * 3600, purpose=purpose)
