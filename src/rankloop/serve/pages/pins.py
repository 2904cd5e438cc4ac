"""Pins, boosts and hides: set for a query or a rule, listed, ended."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.field_value import check_value, valued_fields
from rankloop.serve.desk.hands import KINDS, add_rule, end_rule, known_rules
from rankloop.serve.http.answers import in_waiting_thread, service_of
from rankloop.serve.pages.forms import changed_or_again, number
from rankloop.serve.pages.login import Form, form, form_token, has_token, login_form, may_view, require_admin
from rankloop.serve.pages.rendering import PageRoute, page

__all__ = ["router"]

router = APIRouter(prefix="/pins", route_class=PageRoute, include_in_schema=False)

Fields = Annotated[Form, Depends(form)]


@router.get("")
async def pins(request: Request, q: str = "", document: str = "") -> Response:
    """The rules that hold, those that ended, and a form."""
    typed = {"pattern": q, "document": document}
    return await in_waiting_thread(request, lambda: _listed(request, typed))


@router.post("")
async def add(request: Request, fields: Fields) -> Response:
    """Set a rule."""

    def again(wrong: str) -> Response:
        return _listed(request, fields, wrong=wrong, status=400)

    return await in_waiting_thread(request, lambda: changed_or_again(lambda: _add(request, fields), again))


@router.post("/end")
async def end(request: Request, fields: Fields) -> Response:
    """End a rule now."""
    return await in_waiting_thread(request, lambda: _end(request, fields))


def _listed(request: Request, typed: Form, *, wrong: str = "", status: int = 200) -> Response:
    if not may_view(request):
        return login_form(request, status=401)
    store = service_of(request).store
    usual = {"kind": "pin", "pattern": "", "document": "", "field": "", "wanted": "", "value": "1"}
    usual |= {"days": "30", "reason": ""}
    return page(
        request,
        "pins.html",
        status=status,
        place="pins",
        rules=known_rules(store),
        ended=known_rules(store, ended=True),
        kinds=KINDS,
        fields=valued_fields(service_of(request).index.fields),
        typed=usual | typed,
        wrong=wrong,
        admin=has_token(request),
        form_token=form_token(request),
    )


def _add(request: Request, fields: Form) -> Response:
    who, service = require_admin(request, fields), service_of(request)
    document, field, wanted = (fields.get(name, "").strip() for name in ("document", "field", "wanted"))
    if field:
        check_value(service.index.fields, field, wanted)
    elif document not in service.index:
        raise ValueError(f"no document {document[:100]!r} is in the index")
    rule = add_rule(
        service.store,
        fields.get("kind", ""),
        fields.get("pattern", ""),
        document,
        value=number(fields, "value"),
        days=number(fields, "days", 0.0) or 0.0,
        who=who.name,
        reason=fields.get("reason", ""),
        field=field,
        wanted=wanted if field else "",
    )
    note_act(service.store, who.name, rule.kind, query=rule.pattern, document=rule.target, rank=rule.value)
    service.hands.reload()
    return RedirectResponse("/pins", status_code=303)


def _end(request: Request, fields: Form) -> Response:
    who, service = require_admin(request, fields), service_of(request)
    end_rule(service.store, fields.get("rule", ""))
    note_act(service.store, who.name, "end rule", id=fields.get("rule", ""))
    service.hands.reload()
    return RedirectResponse("/pins", status_code=303)
