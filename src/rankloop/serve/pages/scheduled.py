"""Comparisons on a schedule: kept, shown with their history, ended."""

from typing import TYPE_CHECKING, Any, NamedTuple

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
from rankloop.serve.pages.editable_list import EditableList
from rankloop.serve.pages.forms import number
from rankloop.serve.pages.login import Form

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["failures", "router"]

SHOWN = 20  # results of each


class History(NamedTuple):
    """A comparison and its last results, newest first."""

    one: Scheduled
    results: list[Result]


def failures(service: "Service") -> list[str]:
    """The comparisons whose last run failed, in sentences."""
    return [
        f"The comparison of {one.b} with {one.a} on {one.set} "
        f"{'failed' if last.state == 'failed' else 'could not be made'}: {last.message}."
        for one, last in failing(service.store)
    ]


def _shown(service: "Service") -> dict[str, Any]:
    store, versions = service.store, reversed(service.registry.versions())
    return {
        "known": [History(one, past_results(store, one.id, SHOWN)) for one in known_comparisons(store)],
        "sets": known_sets(store),
        "names": ["production", "newest", *(one.version for one in versions)],
    }


def _add(service: "Service", fields: Form, who: str) -> None:
    try:
        made = add_comparison(
            service.store,
            service.registry,
            fields.get("set", ""),
            fields.get("a", ""),
            fields.get("b", ""),
            max_loss=number(fields, "max_loss", 0.0) or 0.0,
            hours=number(fields, "hours", 24.0) or 0.0,
            who=who,
        )
    except LookupError as error:
        raise ValueError(str(error.args[0])) from None
    about = {"set": made.set, "a": made.a, "b": made.b, "hours": made.hours}
    note_act(service.store, who, "schedule comparison", **about)


def _end(service: "Service", fields: Form, who: str) -> None:
    end_comparison(service.store, fields.get("comparison", ""))
    note_act(service.store, who, "end comparison", id=fields.get("comparison", ""))


router = EditableList(
    "/compare/scheduled",
    "scheduled.html",
    "compare",
    {"set": "", "a": "production", "b": "newest", "max_loss": "0.01", "hours": "24"},
    _shown,
    _add,
    _end,
).router()
