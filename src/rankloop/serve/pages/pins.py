"""Pins, boosts and hides: set for a query or a rule, listed, ended."""

from typing import TYPE_CHECKING, Any

from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.field_value import check_value, valued_fields
from rankloop.serve.desk.hands import KINDS, add_rule, end_rule, known_rules
from rankloop.serve.pages.editable_list import EditableList
from rankloop.serve.pages.forms import number
from rankloop.serve.pages.login import Form

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["router"]


def _shown(service: "Service") -> dict[str, Any]:
    return {
        "rules": known_rules(service.store),
        "ended": known_rules(service.store, ended=True),
        "kinds": KINDS,
        "fields": valued_fields(service.index.fields),
    }


def _add(service: "Service", fields: Form, who: str) -> None:
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
        who=who,
        reason=fields.get("reason", ""),
        field=field,
        wanted=wanted if field else "",
    )
    note_act(service.store, who, rule.kind, query=rule.pattern, document=rule.target, rank=rule.value)
    service.hands.reload()


def _end(service: "Service", fields: Form, who: str) -> None:
    end_rule(service.store, fields.get("rule", ""))
    note_act(service.store, who, "end rule", id=fields.get("rule", ""))
    service.hands.reload()


router = EditableList(
    "/pins",
    "pins.html",
    "pins",
    {"kind": "pin", "pattern": "", "document": "", "field": "", "wanted": "", "value": "1"}
    | {"days": "30", "reason": ""},
    _shown,
    _add,
    _end,
    {"q": "pattern", "document": "document"},
).router()
