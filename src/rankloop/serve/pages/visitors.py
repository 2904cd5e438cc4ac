"""Visitors: a random number in a cookie, and none for people who opted out of tracking."""

import re
import secrets
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.http.answers import service_of, waiting
from rankloop.serve.pages.rendering import PageRoute

__all__ = ["COOKIE", "Visitor", "router", "visitor"]

COOKIE = "rankloop_user"
LIFETIME = 180 * 86_400  # seconds
_MADE_HERE = re.compile(r"[0-9a-f]{32}")

router = APIRouter(route_class=PageRoute, include_in_schema=False)


class Visitor(NamedTuple):
    """The random number of a person, and whether it is new."""

    id: str | None
    new: bool = False

    def set_cookie(self, request: Request, response: Response) -> None:
        """Store a new number in the browser."""
        if self.id and self.new:
            response.set_cookie(
                COOKIE,
                self.id,
                max_age=LIFETIME,
                httponly=True,
                samesite="lax",
                secure=request.url.scheme == "https",
            )


def visitor(request: Request) -> Visitor:
    """The person behind a request; None where Global Privacy Control or Do Not Track is on."""
    if request.headers.get("sec-gpc") == "1" or request.headers.get("dnt") == "1":
        return Visitor(None)
    known = request.cookies.get(COOKIE, "")
    if _MADE_HERE.fullmatch(known):
        return Visitor(known)
    return Visitor(secrets.token_hex(16), new=True)


@router.post("/forget-me")
@waiting
def forget(request: Request) -> Response:
    """Delete every search of this browser; the cookie is same-site, so other sites cannot do it."""
    known = request.cookies.get(COOKIE, "")
    if _MADE_HERE.fullmatch(known):
        service_of(request).forget(known)
    response = RedirectResponse("/", status_code=303)
    response.delete_cookie(COOKIE)
    return response
