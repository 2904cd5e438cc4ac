"""The search page, whole or in pieces, and a page for each document."""

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from rankloop.serve.answer import Showing
from rankloop.serve.events.filters import is_bot
from rankloop.serve.http.answers import metrics_of, service_of
from rankloop.serve.http.schema import SearchRequest
from rankloop.serve.pages.address import Asked
from rankloop.serve.pages.rendering import PageRoute, fragment, in_turn, page
from rankloop.serve.pages.views import View, facet_fields, view
from rankloop.serve.pages.visitors import COOKIE, visitor

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
async def search_page(request: Request) -> Response:
    """The whole page; a search on it is recorded. A browser that guesses what comes next is sent away."""
    if "prefetch" in request.headers.get("sec-purpose", request.headers.get("purpose", "")):
        return Response(status_code=503)
    return await in_turn(request, _whole)


@router.get("/fragment")
async def results_alone(request: Request) -> Response:
    """The results for what is typed so far; only a settled query is recorded."""
    return await in_turn(request, _results)


def _whole(request: Request) -> Response:
    service = service_of(request)
    asked = _asked(request)
    who = visitor(request)
    response = page(
        request,
        "search.html",
        query=asked.query,
        asked=asked,
        view=_found(request, asked, settled=True, user=who.id) if asked.query else None,
        documents=len(service.index),
        production=service.live.roles.production,
        tries=service.config.examples,
        known=COOKIE in request.cookies,
    )
    if asked.query:
        who.keep(request, response)
    return response


def _results(request: Request) -> Response:
    asked = _asked(request)
    if not asked.query:
        raise ValueError("type something to search for")
    who = visitor(request)
    settled = request.query_params.get("settled") == "1"
    shown = _found(request, asked, settled=settled, user=who.id)
    response = fragment("results.html", asked=asked, view=shown)
    if settled:
        who.keep(request, response)
    return response


@router.get("/document/{id:path}")
def document_page(request: Request, id: str) -> Response:
    """What is stored of a document."""
    service = service_of(request)
    if id not in service.index:
        raise LookupError(f"no document {id[:100]!r} is in the index")
    shown = Document.of(id, service.index[id], service.showing)
    return page(request, "document.html", shown=shown)


class Document(NamedTuple):
    """A document for reading."""

    title: str
    url: str | None
    fields: list[tuple[str, str]]

    @classmethod
    def of(cls, id: str, stored: Mapping[str, Any], showing: Showing) -> "Document":
        """The stored fields as text; a link only where it leads to the web."""
        title, url = showing.title_of(id, stored), showing.url_of(stored)
        left_out = {
            showing.title if title != id else None,
            showing.url if url else None,
            "id" if title == id else None,
        }
        return cls(title, url, list(_readable(stored, left_out)))


def _readable(stored: Mapping[str, Any], left_out: set[str | None]) -> Iterable[tuple[str, str]]:
    for name, value in stored.items():
        if name in left_out or hasattr(value, "dtype") or value in (None, "", []):
            continue
        yield name, ", ".join(map(_said, value)) if isinstance(value, list | tuple) else _said(value)


def _said(value: Any) -> str:
    """A stored value as one reads it.

    >>> _said(2.0794415416798357), _said(3.0), _said(1999.99), _said(20_130_501)
    ('2.07944', '3', '1999.99', '20130501')
    """
    if not isinstance(value, float) or not isfinite(value):
        return str(value)
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def _asked(request: Request) -> Asked:
    config = service_of(request).config
    return Asked.of(request.query_params.multi_items(), config.k, config.limits.k)


def _found(request: Request, asked: Asked, *, settled: bool, user: str | None) -> View:
    service = service_of(request)
    answer = service.search(
        SearchRequest(
            query=asked.query,
            k=asked.k,
            filters=asked.filters(service.index.fields),
            facets=facet_fields(service.index.fields),
            user=user,
            record=settled,
            unfinished=not settled,
        ),
        bot=is_bot(request.headers.get("user-agent")),
    )
    metrics_of(request).page(answer)
    return view(answer, asked, service.index, settled=settled)
