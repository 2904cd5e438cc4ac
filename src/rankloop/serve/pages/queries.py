"""Query sets: made by hand, from a file or from the log, shown, changed, exported."""

import time
from collections.abc import Callable
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.query_sets import (
    QuerySet,
    known_sets,
    put_query_set,
    query_set,
    read_queries,
    write_queries,
)
from rankloop.serve.desk.sampling import WAYS, sampled_queries
from rankloop.serve.http.answers import in_waiting_thread, service_of, waiting
from rankloop.serve.pages.forms import changed_or_again, whole
from rankloop.serve.pages.login import (
    Form,
    form_token,
    login_form,
    may_view,
    require_role,
    require_view,
    user_of,
)
from rankloop.serve.pages.rendering import PageRoute, page

__all__ = ["router"]

DAY = 86_400.0
MOST_SAMPLED = 1000
router = APIRouter(prefix="/queries", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def all_sets(request: Request) -> Response:
    """All query sets, and forms to make one."""
    return await in_waiting_thread(request, lambda: _all(request, {}))


@router.get("/{address}")
@waiting
def one_set(request: Request, address: str) -> Response:
    """The queries of a set."""
    if not may_view(request):
        return login_form(request, status=401)
    who, shown = user_of(request), query_set(service_of(request).store, address)
    return page(
        request,
        "query_set.html",
        place="queries",
        shown=shown,
        text="\n".join(
            f"{one.query}\t{one.weight:g}" if shown.weighted else one.query for one in shown.queries
        ),
        changing=who is not None and who.may("judge"),
        form_token=form_token(request),
    )


@router.get("/{address}/export")
@waiting
def export(request: Request, address: str) -> Response:
    """A set as CSV."""
    require_view(request)
    shown = query_set(service_of(request).store, address)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(shown.address)}.csv"}
    return PlainTextResponse(write_queries(shown.queries), headers=headers, media_type="text/csv")


@router.post("")
async def write(request: Request, fields: Form) -> Response:
    """A new set, or a new version of one, from what was typed."""
    return await _made(request, fields, _write)


@router.post("/sample")
async def sample(request: Request, fields: Form) -> Response:
    """A new set, or a new version of one, from the log."""
    return await _made(request, fields, _sample)


async def _made(request: Request, fields: Form, make: Callable[[Request, Form], Response]) -> Response:
    """The set that a form makes; after a mistake the form again."""

    def again(wrong: str) -> Response:
        return _all(request, fields, wrong=wrong, status=400)

    return await in_waiting_thread(request, lambda: changed_or_again(lambda: make(request, fields), again))


def _all(request: Request, typed: Form, *, wrong: str = "", status: int = 200) -> Response:
    if not may_view(request):
        return login_form(request, status=401)
    who = user_of(request)
    return page(
        request,
        "queries.html",
        status=status,
        place="queries",
        sets=known_sets(service_of(request).store),
        ways=WAYS,
        changing=who is not None and who.may("judge"),
        form_token=form_token(request),
        typed=typed,
        wrong=wrong,
    )


def _write(request: Request, fields: Form) -> Response:
    who = require_role(request, fields, "judge")
    source = fields.get("file", "").strip()[:100]
    made = put_query_set(
        service_of(request).store,
        fields.get("name", "").strip(),
        read_queries(fields.get("queries", "")),
        author=who.name,
        made=f"from the file {source}" if source else "by hand",
    )
    return _kept(request, who.name, made)


def _sample(request: Request, fields: Form) -> Response:
    who, service = require_role(request, fields, "judge"), service_of(request)
    way = fields.get("way", "")
    n, days, seed = whole(fields, "n"), whole(fields, "days"), whole(fields, "seed")
    if not 1 <= n <= MOST_SAMPLED:
        raise ValueError(f"a sample has 1 to {MOST_SAMPLED} queries, got {n}")
    now = time.time()
    since = now - days * DAY if days else None
    queries = sampled_queries(service.store, way, n, since=since, until=now, seed=seed)
    window = f"the last {days} days" if days else "all days"
    made = f"{way} sample of {len(queries)} queries of {window}, seed {seed}"
    kept = put_query_set(service.store, fields.get("name", "").strip(), queries, author=who.name, made=made)
    return _kept(request, who.name, kept)


def _kept(request: Request, who: str, made: QuerySet) -> Response:
    note_act(service_of(request).store, who, "query set", set=made.address, made=made.made)
    return RedirectResponse(f"/queries/{quote(made.address)}", status_code=303)
