"""Whether a form was sent by a page of this service, and not by another site."""

from urllib.parse import urlsplit

from fastapi import Request

__all__ = ["require_same_site"]


def require_same_site(request: Request) -> None:
    """Refuse what another site sends through a visitor's browser.

    Browsers say where a request comes from in Sec-Fetch-Site, which scripts cannot change, and older ones in
    Origin. Programs send neither; what changes something then needs a token besides.
    """
    fetched = request.headers.get("sec-fetch-site")
    if fetched is not None:
        same = fetched in ("same-origin", "none")
    else:
        origin = request.headers.get("origin")
        same = origin is None or urlsplit(origin).netloc == request.headers.get("host", "")
    if not same:
        raise PermissionError("this request came from another site; open the page here and try again")
