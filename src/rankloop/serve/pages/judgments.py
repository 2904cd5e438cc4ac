"""Thumbs stored as judgments, and the judgments as a qrels file."""

import time
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from rankloop.serve.http.answers import in_waiting_thread, service_of
from rankloop.serve.pages.address import SearchAddress
from rankloop.serve.pages.login import Form, form, require_view
from rankloop.serve.pages.rendering import PageRoute
from rankloop.serve.pages.visitors import visitor

if TYPE_CHECKING:
    from rankloop.serve.events.store import ShownPage, Store

__all__ = ["router"]

TRIES, WAIT = 10, 0.15  # seconds
GRADES = {"0": 0.0, "1": 1.0}

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.post("/judge")
async def judge(request: Request, fields: Annotated[Form, Depends(form)]) -> Response:
    """Store that a document is a good or a poor answer; needs the signature of its page."""
    return await in_waiting_thread(request, lambda: _judge(request, fields))


@router.get("/judgments.qrels")
async def qrels(request: Request) -> Response:
    """All judgments in TREC format, for administrators."""
    return await in_waiting_thread(request, lambda: _qrels(request))


def _judge(request: Request, fields: Form) -> Response:
    service = service_of(request)
    page_id = service.recorder.signer.open(fields.get("impression", ""))
    grade, document = fields.get("grade", ""), fields.get("document", "")
    if grade not in GRADES:
        raise ValueError(f"a grade is 0 or 1, got {grade[:20]!r}")
    shown = _shown(service.store, page_id)
    if shown is None:
        return Response("this page is not stored yet; try again", 503, {"Retry-After": "1"})
    if document not in shown.documents:
        raise ValueError("only a document of the page can be judged")
    who = visitor(request)
    user = service.recorder.signer.user_key(who.id) if who.id else page_id
    service.store.put_judgment(shown.query, document, GRADES[grade], user)
    if "application/json" in request.headers.get("accept", ""):
        return Response(status_code=204)
    return RedirectResponse(SearchAddress(shown.query).href, status_code=303)


def _qrels(request: Request) -> Response:
    require_view(request)
    headers = {"Content-Disposition": 'attachment; filename="judgments.qrels"'}
    return PlainTextResponse(service_of(request).store.judgments_text(), headers=headers)


def _shown(store: "Store", page_id: str) -> "ShownPage | None":
    """The page; it may still wait in the spool for a moment."""
    for _ in range(TRIES):
        shown = store.page(page_id)
        if shown is not None:
            return shown
        time.sleep(WAIT)
    return None
