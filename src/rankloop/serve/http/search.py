"""Routes for everybody: search, events, rank, explain."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from rankloop.serve.http.answers import PROBLEMS, in_thread, in_waiting, metrics_of, said, service_of
from rankloop.serve.http.schema import (
    LONGEST_QUERY,
    Accepted,
    EventsRequest,
    Explanation,
    RankRequest,
    SearchAnswer,
    SearchRequest,
    Suggestions,
)

__all__ = ["router"]

router = APIRouter(tags=["search"])

QueryText = Annotated[str, Query(max_length=LONGEST_QUERY)]
DocumentId = Annotated[str, Query(min_length=1, max_length=500)]
Version = Annotated[str, Query(min_length=1, max_length=50)]


@router.post("/search", response_model=SearchAnswer, responses=PROBLEMS)
async def search(request: Request, asked: SearchRequest) -> Response:
    """A page of results, with the signed id that its clicks need."""
    service, metrics = service_of(request), metrics_of(request)

    def work() -> SearchAnswer:
        answer = service.search(asked)
        metrics.page(answer)
        return answer

    return await in_thread(request, work)


@router.post("/events", response_model=Accepted, responses=PROBLEMS)
async def events(request: Request, happened: EventsRequest) -> Response:
    """Clicks and what else people did; sending an event twice counts it once.

    What is accepted is on disk. An event without the signature of its page is refused; the others count.
    """
    service, metrics = service_of(request), metrics_of(request)

    def work() -> Accepted:
        accepted = service.record(happened.events)
        metrics.events(accepted)
        return accepted

    return await in_waiting(request, work)


@router.post("/rank", response_model=SearchAnswer, responses=PROBLEMS)
async def rank(request: Request, asked: RankRequest) -> Response:
    """The caller's own candidates in the order of the ranker, for those who keep their engine."""
    service, metrics = service_of(request), metrics_of(request)

    def work() -> SearchAnswer:
        answer = service.rank(asked)
        metrics.page(answer)
        return answer

    return await in_thread(request, work)


@router.get("/explain", response_model=Explanation, responses=PROBLEMS | said(404))
async def explain(
    request: Request,
    query: QueryText,
    document: DocumentId,
    against: DocumentId | None = None,
    version: Version | None = None,
) -> Response:
    """Why a document is where it is, and, with `against`, why it is above or below another."""
    service = service_of(request)
    return await in_thread(request, lambda: service.explain(query, document, against, version))


@router.get("/suggest", response_model=Suggestions, responses=PROBLEMS)
async def suggest(request: Request, query: QueryText, n: Annotated[int, Query(ge=1, le=20)] = 5) -> Response:
    """Titles that fit what was typed so far."""
    service = service_of(request)
    return await in_thread(request, lambda: Suggestions(suggestions=service.suggest(query, n)))
