"""The last pages of a visitor, in a cookie: one that is loaded again is the same page, not a second one."""

import hashlib
from dataclasses import dataclass, replace
from typing import NamedTuple

from fastapi import Request, Response

from rankloop.serve.http.answers import service_of
from rankloop.serve.pages.address import SearchAddress

__all__ = ["RecentPage", "RecentPages", "is_shown_again", "search_key"]

COOKIE = "rankloop_pages"
KEPT = 6  # pages
LASTS = 1800  # seconds after which the same search is a new one
_ENTRY, _PART = "~", ":"


class RecentPage(NamedTuple):
    """A page that was recorded: which search it answers, its number of results, and its token."""

    search: str
    k: int
    token: str


@dataclass(frozen=True)
class RecentPages:
    """The pages that a browser showed lately, newest first.

    Going back, loading a page again or asking for more of it without scripts shows the page that is there:
    the same search of the same person, ranked by the same version over the same documents.
    """

    pages: tuple[RecentPage, ...] = ()

    @classmethod
    def of(cls, request: Request) -> "RecentPages":
        """Those in the cookie of a request that were signed here, not long ago."""
        signer = service_of(request).recorder.signer
        found = []
        for entry in request.cookies.get(COOKIE, "").split(_ENTRY)[:KEPT]:
            search, _, rest = entry.partition(_PART)
            k, _, token = rest.partition(_PART)
            if k.isdecimal() and len(k) < 4 and signer.age(token) < LASTS:
                found.append(RecentPage(search, int(k), token))
        return cls(tuple(found))

    def same(self, search: str, k: int) -> RecentPage | None:
        """The page of a search, if at least as many results are asked for as it showed first."""
        return next((page for page in self.pages if page.search == search and page.k <= k), None)

    def with_page(self, page: RecentPage) -> "RecentPages":
        """The same with one more page."""
        others = tuple(one for one in self.pages if one.search != page.search)
        return replace(self, pages=(page, *others)[:KEPT])

    def set_cookie(self, request: Request, response: Response) -> None:
        """Store the pages in the browser."""
        text = _ENTRY.join(_PART.join((page.search, str(page.k), page.token)) for page in self.pages)
        https = request.url.scheme == "https"
        response.set_cookie(COOKIE, text, max_age=LASTS, httponly=True, samesite="lax", secure=https)


def search_key(request: Request, address: SearchAddress, user: str | None) -> str:
    """What a page is of: the search, the person, what ranks, the documents, and what was set by hand."""
    service = service_of(request)
    live = service.versions.live
    state = (
        (address.query, sorted(address.chosen), address.sort, user),
        (live.roles, [(one.id, one.a, one.b) for one in live.experiments], live.learned),
        (service.index.generation, service.searcher.hands.matching(address.query)),
    )
    return hashlib.sha256(repr(state).encode("utf-8", "replace")).hexdigest()[:16]


def is_shown_again(request: Request, address: SearchAddress) -> bool:
    """Whether a page was probably shown before, as far as the request alone says.

    It is loaded again, which browsers say to caches, or more of it is asked for without scripts.
    """
    asked = request.headers.get("cache-control", "").replace(" ", "").lower().split(",")
    return bool({"max-age=0", "no-cache"} & set(asked)) or address.k > address.usual
