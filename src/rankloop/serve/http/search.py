"""Routes for everybody: search, events, rank, explain."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from rankloop.search import Deadline
from rankloop.serve.http.answers import (
    PROBLEMS,
    address_of,
    in_disk_thread,
    in_search_thread,
    metrics_of,
    problems,
    service_of,
)
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
from rankloop.serve.http.tokens import has_token, only_admin

__all__ = ["router"]

router = APIRouter(tags=["search"])

QueryText = Annotated[str, Query(max_length=LONGEST_QUERY)]
DocumentId = Annotated[str, Query(min_length=1, max_length=500)]
Version = Annotated[str, Query(min_length=1, max_length=50)]
Admin = Annotated[bool, Depends(has_token)]  # whether the token came with the request


@router.post("/search", response_model=SearchAnswer, responses=PROBLEMS | problems(401, 403))
async def search(request: Request, body: SearchRequest) -> Response:
    """A page of results, with the signed id that its clicks need."""
    return await _counted_page(request, lambda **given: service_of(request).search(body, **given))


@router.post("/events", response_model=Accepted, responses=PROBLEMS)
async def events(request: Request, body: EventsRequest) -> Response:
    """Clicks and other events; sending one twice counts it once.

    What is accepted is on disk. An event without the signature of its page is refused; the others count.
    """
    service, metrics = service_of(request), metrics_of(request)

    def work() -> Accepted:
        accepted = service.record(body.events)
        metrics.events(accepted)
        return accepted

    return await in_disk_thread(request, work)


@router.post("/rank", response_model=SearchAnswer, responses=PROBLEMS | problems(401, 403))
async def rank(request: Request, body: RankRequest) -> Response:
    """The caller's own candidates in the order of the ranker, for those who keep their engine.

    Without the token it is the version that ranks the pages of `user`, or of the sender if nobody is named.
    """
    public = not await has_token(request)
    return await _counted_page(
        request, lambda **given: service_of(request).rank(body, public=public, **given)
    )


@router.get("/explain", response_model=Explanation, responses=PROBLEMS | problems(401, 403, 404))
async def explain(
    request: Request,
    admin: Admin,
    query: QueryText,
    document: DocumentId,
    against: DocumentId | None = None,
    user: Annotated[str | None, Query(max_length=200)] = None,
    version: Version | None = None,
) -> Response:
    """Why a document is where it is, and, with `against`, why it is above or below another.

    By the version that ranks the pages of `user`, or of the sender where nobody is named. Its name, that in
    production, and another `version` need the token.
    """
    service = service_of(request)
    unit = None if admin and user is None else service.recorder.unit(user, address_of(request))
    if version is not None and not admin:
        await only_admin(request)

    def work(deadline: Deadline) -> Explanation:
        found = service.searcher.explain(query, document, against, version, unit=unit, deadline=deadline)
        return found if admin else found.model_copy(update={"ranker": None})

    return await in_search_thread(request, work)


@router.get("/suggest", response_model=Suggestions, responses=PROBLEMS)
async def suggest(request: Request, query: QueryText, n: Annotated[int, Query(ge=1, le=20)] = 5) -> Response:
    """Titles that fit what was typed so far."""
    searcher = service_of(request).searcher
    return await in_search_thread(
        request, lambda deadline: Suggestions(suggestions=searcher.suggest(query, n, deadline=deadline))
    )


async def _counted_page(request: Request, work: Callable[..., SearchAnswer]) -> Response:
    """The page that `work` makes for an address and by a deadline; with the token also its ranker."""
    metrics, admin = metrics_of(request), await has_token(request)

    def counted(deadline: Deadline) -> SearchAnswer:
        answer = work(address=address_of(request), deadline=deadline)
        metrics.page(answer)
        return answer if admin else answer.public()

    return await in_search_thread(request, counted)
