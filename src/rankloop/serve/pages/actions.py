"""Changes from the dashboard: which version serves, and which experiments run; each with its evidence."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from rankloop.search import Deadline
from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.query_sets import known_sets
from rankloop.serve.desk.set_comparison import compare_over_set
from rankloop.serve.http.answers import in_waiting_thread, searching, service_of
from rankloop.serve.http.schema_admin import ExperimentRequest
from rankloop.serve.online.register import register_learner
from rankloop.serve.online.settings import BANDITS, OnlineSettings
from rankloop.serve.pages.dashboard import dashboard_page
from rankloop.serve.pages.evidence import name_of
from rankloop.serve.pages.forms import LONGEST, changed_or_again, whole
from rankloop.serve.pages.login import Form, form_token, has_token, login_form, may_view, require_admin
from rankloop.serve.pages.rendering import PageRoute, page
from rankloop.serve.pages.tried import measured, tried

if TYPE_CHECKING:
    from rankloop.serve.versions import Versions

__all__ = ["router"]

router = APIRouter(prefix="/dashboard", route_class=PageRoute, include_in_schema=False)

RANKING = 2.0  # seconds in which queries are ranked for the evidence
SETS = 5  # query sets whose judgments are shown


@router.get("/promote")
@searching
def ask(request: Request, version: str = "") -> Response:
    """What is known of a version against the one in production, and a button to promote it."""
    if not may_view(request):
        return login_form(request, status=401)
    service = service_of(request)
    wanted = service.registry.version(version)
    production = str(service.versions.live.roles.production)
    deadline = Deadline(RANKING)
    evidence = [
        compare_over_set(
            service.store, service.registry, service.rankings, one, production, version, deadline
        )
        for one in known_sets(service.store)[:SETS]
    ]
    return page(
        request,
        "promote.html",
        place="dashboard",
        version=wanted,
        name=name_of(wanted),
        production=production,
        evidence=evidence,
        gain=wanted.lineage.get("gain") if wanted.lineage.get("production") == production else None,
        gate=wanted.lineage.get("gate"),
        tried=tried(service, version, production),
        measured=measured(wanted, service.registry.version(production)),
        admin=has_token(request),
        form_token=form_token(request),
    )


@router.post("/promote")
async def promote(request: Request, fields: Form) -> Response:
    """Let a version serve everybody."""
    version = fields.get("version", "")
    return await _changed(
        request, fields, lambda versions: versions.promote(version), "promote", version=version
    )


@router.post("/roll_back")
async def roll_back(request: Request, fields: Form) -> Response:
    """Let the version before serve again."""
    return await _changed(request, fields, lambda versions: versions.roll_back(), "roll back")


@router.post("/shadow")
async def shadow(request: Request, fields: Form) -> Response:
    """Let a version rank pages that are not shown; without a version, end it."""
    version = fields.get("version") or None
    return await _changed(
        request,
        fields,
        lambda versions: versions.shadow(version),
        "shadow" if version else "end shadow",
        version=version or service_of(request).versions.live.roles.shadow,
    )


@router.post("/canary")
async def canary(request: Request, fields: Form) -> Response:
    """Let a version serve a share of the people; without a version, end it."""
    version = fields.get("version") or None

    def change(versions: "Versions") -> None:
        versions.canary(version, _share(fields))

    return await _changed(
        request,
        fields,
        change,
        "canary" if version else "end canary",
        version=version or service_of(request).versions.live.roles.canary,
        share=fields.get("share", "") if version else None,
    )


@router.post("/experiments")
async def start(request: Request, fields: Form) -> Response:
    """Begin an experiment between two versions; a mistake keeps what was typed."""

    def change() -> Response:
        who, service = require_admin(request, fields), service_of(request)
        started = service.versions.start_experiment(_wanted(fields))
        note_act(service.store, who.name, "start experiment", id=started.id, a=started.a, b=started.b)
        return RedirectResponse("/dashboard#experiments", status_code=303)

    return await _or_dashboard(request, fields, "experiments", change)


@router.post("/online")
async def online(request: Request, fields: Form) -> Response:
    """Register a version that learns while it serves; a mistake keeps what was typed."""

    def change() -> Response:
        who, service = require_admin(request, fields), service_of(request)
        wanted = _learner(fields, [one.version for one in service.registry.versions()])
        version = register_learner(service.registry, service.index, service.config, wanted)
        about = {"version": version, "learner": wanted.learner, "floor": wanted.floor}
        note_act(service.store, who.name, "register", **about)
        return RedirectResponse(f"/dashboard/promote?version={version}", status_code=303)

    return await _or_dashboard(request, fields, "online", change)


async def _or_dashboard(
    request: Request, fields: Form, panel: str, change: Callable[[], Response]
) -> Response:
    """Make a change; after a mistake the dashboard shows the form of this panel again."""

    def again(wrong: str) -> Response:
        return dashboard_page(request, typed=fields, wrong=wrong, panel=panel, status=400)

    return await in_waiting_thread(request, lambda: changed_or_again(change, again))


@router.post("/experiments/end")
async def end(request: Request, fields: Form) -> Response:
    """End an experiment; its verdict stays."""
    id = fields.get("experiment", "")
    return await _changed(
        request, fields, lambda versions: versions.end_experiment(id), "end experiment", "#experiments", id=id
    )


def _wanted(fields: Form) -> ExperimentRequest:
    wanted = {"a": fields.get("a"), "b": fields.get("b"), "kind": fields.get("kind"), "share": _share(fields)}
    return ExperimentRequest.model_validate(wanted)


def _learner(fields: Form, known: Sequence[str]) -> OnlineSettings:
    """The settings of a learner; a bandit chooses among the floor and what was ticked."""
    learner, floor = fields.get("learner", ""), fields.get("floor", "")
    ticked = [one for one in known if fields.get(f"arm {one}")]
    arms = tuple(dict.fromkeys((floor, *ticked))) if learner in BANDITS else ()
    keep, control = whole(fields, "keep", 0, 100) / 100, whole(fields, "control", 1, 50) / 100
    return OnlineSettings(learner, floor, arms, keep=keep, control=control)


def _share(fields: Form) -> float:
    share = fields.get("share", "")
    if not share.isdecimal() or len(share) > LONGEST or not 1 <= int(share) <= 100:
        raise ValueError(f"a share of the people is a whole number from 1 to 100, got {share[:20]!r}")
    return int(share) / 100


async def _changed(
    request: Request,
    fields: Form,
    change: "Callable[[Versions], object]",
    act: str,
    panel: str = "",
    **detail: object,
) -> Response:
    """Make a change that needs an administrator, note it, and go back to the dashboard, to a panel of it."""

    def work() -> Response:
        who, service = require_admin(request, fields), service_of(request)
        before = service.versions.live.roles.production
        change(service.versions)
        after = service.versions.live.roles.production
        note_act(service.store, who.name, act, **detail, before=before, after=after)
        return RedirectResponse(f"/dashboard{panel}", status_code=303)

    return await in_waiting_thread(request, work)
