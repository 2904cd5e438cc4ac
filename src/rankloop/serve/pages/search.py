"""The search page, its results alone, and a page for each document."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from rankloop.search import Deadline
from rankloop.serve.events.filters import is_bot
from rankloop.serve.http.answers import address_of, in_search_thread, metrics_of, service_of
from rankloop.serve.http.schema import SearchAnswer, SearchRequest
from rankloop.serve.pages.address import SearchAddress
from rankloop.serve.pages.login import shows_versions
from rankloop.serve.pages.narrowing import CHOICES, facet_fields, range_fields
from rankloop.serve.pages.recent_pages import RecentPage, RecentPages, is_shown_again, search_key
from rankloop.serve.pages.rendering import PageRoute, fragment, page
from rankloop.serve.pages.views import View, view
from rankloop.serve.pages.visitors import COOKIE, Visitor, visitor
from rankloop.serve.presenter import Presenter

__all__ = ["router"]

MOST_VALUES = 1000  # of a facet; the page shows the first ones, and those that are chosen
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
async def search_page(request: Request) -> Response:
    """The whole page; its search is recorded. Requests that prefetch are refused."""
    if "prefetch" in request.headers.get("sec-purpose", request.headers.get("purpose", "")):
        return Response(status_code=503)
    return await in_search_thread(request, lambda deadline: _whole(request, deadline))


@router.get("/fragment")
async def results_alone(request: Request) -> Response:
    """The results for what is typed so far; only a settled query is recorded."""
    return await in_search_thread(request, lambda deadline: _results(request, deadline))


def _whole(request: Request, deadline: Deadline) -> Response:
    service = service_of(request)
    address = _address(request)
    who, desk = visitor(request), shows_versions(request)
    first = service.versions.before_learning() if desk else None
    before = first if request.query_params.get("before") == "1" else None
    asked = address.asked
    found = _found(request, address, deadline, who, settled=before is None, version=before) if asked else None
    response = page(
        request,
        "search.html",
        desk=desk,
        query=address.query,
        address=address,
        view=found.view if found else None,
        before=before is not None,
        learned=first is not None,
        documents=len(service.index),
        production=service.versions.live.roles.production if desk else None,
        tries=service.config.examples,
        tries_are=service.config.examples_are,
        known=COOKIE in request.cookies,
    )
    if found:
        found.remember(request, response)
    return response


def _results(request: Request, deadline: Deadline) -> Response:
    address = _address(request)
    if not address.asked:
        raise ValueError("type something to search for")
    settled = request.query_params.get("settled") == "1"
    desk = shows_versions(request)
    learned = desk and service_of(request).versions.before_learning() is not None
    found = _found(request, address, deadline, visitor(request), settled=settled)
    response = fragment(
        "results.html", address=address, view=found.view, learned=learned, before=False, desk=desk and settled
    )
    found.remember(request, response)
    return response


@router.get("/document/{id:path}")
async def document_page(request: Request, id: str) -> Response:
    """What is stored of a document."""
    service = service_of(request)

    def work(deadline: Deadline) -> Response:
        if id not in service.index:
            raise LookupError(f"no document {id[:100]!r} is in the index")
        shown = Document.of(id, service.index[id], service.searcher.presenter)
        return page(request, "document.html", shown=shown, desk=shows_versions(request))

    return await in_search_thread(request, work)


class Document(NamedTuple):
    """A document for reading."""

    title: str
    url: str | None
    fields: list[tuple[str, str]]

    @classmethod
    def of(cls, id: str, stored: Mapping[str, Any], presenter: Presenter) -> "Document":
        """The stored fields as text; the link only if it is http or https."""
        title, url = presenter.title_of(id, stored), presenter.url_of(stored)
        left_out = {
            presenter.title if title != id else None,
            presenter.url if url else None,
            "id" if title == id else None,
        }
        return cls(title, url, list(_readable(stored, left_out)))


def _readable(stored: Mapping[str, Any], left_out: set[str | None]) -> Iterable[tuple[str, str]]:
    for name, value in stored.items():
        if name in left_out or hasattr(value, "dtype") or value in (None, "", []):
            continue
        yield (name, ", ".join(map(_text, value)) if isinstance(value, list | tuple) else _text(value))


def _text(value: Any) -> str:
    """A stored value as text.

    >>> _text(2.0794415416798357), _text(3.0), _text(1999.99), _text(20_130_501)
    ('2.07944', '3', '1999.99', '20130501')
    """
    if not isinstance(value, float) or not isfinite(value):
        return str(value)
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def _address(request: Request) -> SearchAddress:
    config = service_of(request).config
    return SearchAddress.of(request.query_params.multi_items(), config.k, config.limits.k)


class Found(NamedTuple):
    """A page of results, whose it is, and the pages of this browser with it; None if it was not recorded."""

    view: View
    who: Visitor
    recent: RecentPages | None

    def remember(self, request: Request, response: Response) -> None:
        """Store who it is, and what was shown, in the browser; nothing of those who opted out."""
        if self.recent is not None and self.who.id:
            self.who.set_cookie(request, response)
            self.recent.set_cookie(request, response)


def _found(
    request: Request,
    address: SearchAddress,
    deadline: Deadline,
    who: Visitor,
    *,
    settled: bool,
    version: str | None = None,
) -> Found:
    """The results; a page that was shown before is shown again, and grows where more of it is asked for."""
    service = service_of(request)
    number, impression = request.query_params.get("page", ""), request.query_params.get("impression")
    following = int(number) if number.isdecimal() and len(number) < 5 else None
    shown_again = who.id is None and not following and is_shown_again(request, address)
    record = settled and not shown_again  # no cookie would say that it is the same page
    key = search_key(request, address, who.id) if record and not following else ""
    recent = RecentPages.of(request)
    same = recent.same(key, address.k) if key else None

    def search(k: int, offset: int, token: str | None, again: str | None = None) -> SearchAnswer:
        answer = service.searcher.search(
            SearchRequest(
                query=address.query,
                k=k,
                offset=offset,
                impression=token,
                filters=address.filters(service.index.fields),
                sort=address.sort or None,
                facets=facet_fields(service.index.fields),
                facet_values=MOST_VALUES if settled or address.chosen else CHOICES,
                ranges=range_fields(service.index.fields),
                user=who.id,
                record=record,
                unfinished=not settled and version is None,
            ),
            version=version,
            bot=is_bot(request.headers.get("user-agent")),
            address=address_of(request),
            deadline=deadline,
            again=again,
            browse=address.browse,
        )
        metrics_of(request).page(answer)
        return answer

    first = same.k if same else address.k
    start = first * ((following or 1) - 1)
    answer = search(first, start, impression or None, same.token if same else None)
    for below in range(first, address.k, first) if answer.impression else ():
        if len(answer.results) < below:
            break
        more = search(min(first, address.k - below), below, answer.impression).results
        answer = answer.model_copy(update={"results": [*answer.results, *more]})
    shown = view(answer, address, service.index, settled=settled, card=service.config.card, first=first)
    if not key or version is not None or answer.impression is None:
        return Found(shown, who, None)
    return Found(shown, who, recent.with_page(same or RecentPage(key, first, answer.impression)))
