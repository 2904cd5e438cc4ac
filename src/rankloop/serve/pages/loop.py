"""The loop on one page: shown, clicked, the bias of ranks, what was learned, the gate, production."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from rankloop.report import metric_intervals, position_curve
from rankloop.search import Deadline
from rankloop.serve.desk.acts import note_act
from rankloop.serve.http.answers import searching, service_of, waiting
from rankloop.serve.learning.due import clicked_pages, last_look
from rankloop.serve.learning.missing import Traffic, missing, read_traffic_counts
from rankloop.serve.learning.own_clicks import OwnClick, own_clicks
from rankloop.serve.learning.record import LearningRun, newest, runs
from rankloop.serve.learning.what_changed import ChangedQuery, what_changed
from rankloop.serve.pages.colours import colours_of
from rankloop.serve.pages.evidence import curve_of, name_of
from rankloop.serve.pages.login import Form, form_token, has_token, login_form, may_view, require_admin
from rankloop.serve.pages.panels import drawn
from rankloop.serve.pages.rendering import PageRoute, page
from rankloop.serve.pages.visitors import visitor

if TYPE_CHECKING:
    from rankloop.serve.models.registry import Version
    from rankloop.serve.service import Service

__all__ = ["router"]

DAY = 86_400.0
RANKING = 2.0  # seconds in which changed queries are ranked
AGAIN = 2  # seconds after which a page that shows a run is loaded again
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/loop")
@searching
def loop(request: Request) -> Response:
    """What people did, what it taught, and what is missing until it serves."""
    if not may_view(request):
        return login_form(request, status=401)
    service = service_of(request)
    config, now = service.config, time.time()
    since = now - DAY * config.window_days if config.window_days > 0 else None
    traffic = read_traffic_counts(service.store, since=since, until=now, depth=config.swap_top)
    last, begun = newest(service.store), runs(service.store, 1)
    running = begun[0] if begun and begun[0].state == "running" else None
    learned = _last_learned(service)
    known = service.registry.versions()
    made = _learned_elsewhere(known) if learned is None else None
    production = service.registry.version(str(service.versions.live.roles.production))
    return page(
        request,
        "loop.html",
        place="loop",
        traffic=traffic,
        rates=_rates(traffic),
        curve=_curve(learned, made),
        values=_values(learned),
        gains=_gains(known) if made is not None else None,
        learned=learned,
        made=made,
        last=last,
        missing=missing(config, traffic, last, _clicked(service)),
        gate=config.gate,
        production=production,
        name=name_of(production),
        running=running,
        starting=service.learn_now.running,
        failed=service.learn_now.message,
        again=AGAIN if running or service.learn_now.running else 0,
        changed=_changed(service, learned) if learned is not None and not running else [],
        own=_own(request, learned) if learned is not None and not running else [],
        learning=has_token(request),
        form_token=form_token(request),
    )


@router.post("/loop/learn")
@waiting
def learn(request: Request, fields: Form) -> Response:
    """Begin a learning run beside the service."""
    who, service = require_admin(request, fields), service_of(request)
    if service.learn_now.start():
        note_act(service.store, who.name, "learn now")
    return RedirectResponse("/loop", status_code=303)


@dataclass(frozen=True)
class Seen:
    """A changed query with titles in place of ids."""

    changed: ChangedQuery
    before: tuple[str, ...]
    after: tuple[str, ...]
    risen: str


def _last_learned(service: "Service") -> LearningRun | None:
    """The last run that made a version."""
    return next((one for one in runs(service.store) if one.version is not None), None)


def _learned_elsewhere(known: "Sequence[Version]") -> "Version | None":
    """The newest version that was learned from clicks before this service learned, as in the demo."""
    return next((one for one in reversed(known) if curve_of(one) is not None), None)


def _rates(traffic: Traffic) -> float | None:
    return traffic.clicks / traffic.pages if traffic.pages else None


def _curve(run: LearningRun | None, made: "Version | None") -> Markup | None:
    """The bias of ranks with its interval: of a run, or of a version that was made elsewhere."""
    curves = run.record.get("curves") if run is not None else None
    shown: Any = curve_of(made) if made is not None else None
    if curves:
        shown = {
            name: tuple(np.array(one[part], float) for part in ("values", "low", "high"))
            for name, one in curves.items()
        }
    if shown is None:
        return None
    return drawn(position_curve(shown, title="", note=""), "How likely each rank is examined")


def _gains(known: "Sequence[Version]") -> Markup | None:
    """What each version gains by clicks, as estimated when it was made."""
    given = {f"{one.version} {name_of(one)}": one.lineage.get("gain") for one in known}
    gains = {
        name: {"gain from clicks": tuple(map(float, one))}
        for name, one in given.items()
        if isinstance(one, list | tuple) and len(one) == 3
    }
    if not gains:
        return None
    figure = metric_intervals(gains, colours=colours_of(gains), title="", note="")
    return drawn(figure, "Estimated gain of each ranking")


def _values(run: LearningRun | None) -> Markup | None:
    """Each candidate's value from clicks, with plain clicks and with the bias corrected."""
    found: Mapping[str, Any] = run.record.get("candidates", {}) if run is not None else {}
    if not found:
        return None
    values = {name: {"from clicks": tuple(one["value"])} for name, one in found.items()}
    return drawn(metric_intervals(values, title="", note=""), "Estimated value of each ranking")


def _changed(service: "Service", run: LearningRun) -> list[Seen]:
    try:
        changed = what_changed(service, run, Deadline(RANKING))
    except ValueError:  # a version that cannot be loaded any more
        return []
    return [
        Seen(one, _titles(service, one.before), _titles(service, one.after), _titles(service, [one.risen])[0])
        for one in changed
    ]


def _clicked(service: "Service") -> int | None:
    """Pages with a click since the last run, where learning waits for some."""
    if not service.config.learn_after:
        return None
    return clicked_pages(service.store, last_look(service.store, service.registry))


def _own(request: Request, run: LearningRun) -> list[tuple[OwnClick, str]]:
    """What was learned from the clicks of this visitor, with titles."""
    service, who = service_of(request), visitor(request)
    user = None if who.new else service.recorder.user(who.id)
    if user is None:
        return []
    try:
        found = own_clicks(service, run, user, Deadline(RANKING))
    except ValueError:  # a version that cannot be loaded any more
        return []
    return [(one, _titles(service, [one.document])[0]) for one in found]


def _titles(service: "Service", ids: Sequence[str]) -> tuple[str, ...]:
    presenter = service.searcher.presenter
    return tuple(
        presenter.title_of(id, service.index[id]) if id in service.index else f"{id} (deleted)" for id in ids
    )
