"""Comparisons on a schedule: kept, shown with their history, ended."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.query_sets import known_sets
from rankloop.serve.desk.scheduled import (
    Result,
    Scheduled,
    add_comparison,
    end_comparison,
    failing,
    known_comparisons,
    past_results,
)
from rankloop.serve.http.answers import in_waiting_thread, service_of
from rankloop.serve.pages.forms import changed_or_again, number
from rankloop.serve.pages.login import Form, form, form_token, has_token, login_form, may_view, require_admin
from rankloop.serve.pages.rendering import PageRoute, page

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["failures", "router"]

SHOWN = 20  # results of each
router = APIRouter(prefix="/compare/scheduled", route_class=PageRoute, include_in_schema=False)

Fields = Annotated[Form, Depends(form)]


class History(NamedTuple):
    """A comparison and its last results, newest first."""

    one: Scheduled
    results: list[Result]


@router.get("")
async def scheduled(request: Request) -> Response:
    """All comparisons on a schedule, with their results, and a form."""
    return await in_waiting_thread(request, lambda: _listed(request, {}))


@router.post("")
async def add(request: Request, fields: Fields) -> Response:
    """Keep a comparison."""

    def again(wrong: str) -> Response:
        return _listed(request, fields, wrong=wrong, status=400)

    return await in_waiting_thread(request, lambda: changed_or_again(lambda: _add(request, fields), again))


@router.post("/end")
async def end(request: Request, fields: Fields) -> Response:
    """Make no more runs of a comparison."""
    return await in_waiting_thread(request, lambda: _end(request, fields))


def failures(service: "Service") -> list[str]:
    """The comparisons whose last run failed, in sentences."""
    return [
        f"The comparison of {one.b} with {one.a} on {one.set} "
        f"{'failed' if last.state == 'failed' else 'could not be made'}: {last.message}."
        for one, last in failing(service.store)
    ]


def _listed(request: Request, typed: Form, *, wrong: str = "", status: int = 200) -> Response:
    if not may_view(request):
        return login_form(request, status=401)
    service = service_of(request)
    usual = {"set": "", "a": "production", "b": "newest", "max_loss": "0.01", "hours": "24"}
    return page(
        request,
        "scheduled.html",
        status=status,
        place="compare",
        known=[
            History(one, past_results(service.store, one.id, SHOWN))
            for one in known_comparisons(service.store)
        ],
        sets=known_sets(service.store),
        names=["production", "newest", *(one.version for one in reversed(service.registry.versions()))],
        typed=usual | typed,
        wrong=wrong,
        admin=has_token(request),
        form_token=form_token(request),
    )


def _add(request: Request, fields: Form) -> Response:
    who, service = require_admin(request, fields), service_of(request)
    try:
        made = add_comparison(
            service.store,
            service.registry,
            fields.get("set", ""),
            fields.get("a", ""),
            fields.get("b", ""),
            max_loss=number(fields, "max_loss", 0.0) or 0.0,
            hours=number(fields, "hours", 24.0) or 0.0,
            who=who.name,
        )
    except LookupError as error:
        raise ValueError(str(error.args[0])) from None
    about = {"set": made.set, "a": made.a, "b": made.b, "hours": made.hours}
    note_act(service.store, who.name, "schedule comparison", **about)
    return RedirectResponse("/compare/scheduled", status_code=303)


def _end(request: Request, fields: Form) -> Response:
    who, service = require_admin(request, fields), service_of(request)
    end_comparison(service.store, fields.get("comparison", ""))
    note_act(service.store, who.name, "end comparison", id=fields.get("comparison", ""))
    return RedirectResponse("/compare/scheduled", status_code=303)
