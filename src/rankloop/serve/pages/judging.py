"""Judging: query lists with progress, pools, grades by key, live scores, files in and out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse, RedirectResponse

from rankloop._names import one_of
from rankloop.search import Deadline
from rankloop.serve.answer import query_of
from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.judge_run import same_model
from rankloop.serve.desk.judging import Judging, judging
from rankloop.serve.desk.judgment_files import FORMATS, judgments_of_text, text_of_judgments
from rankloop.serve.desk.language_judge import OverBudget
from rankloop.serve.desk.query_sets import known_sets, query_set
from rankloop.serve.http.answers import in_waiting_thread, searching, service_of, waiting
from rankloop.serve.pages.forms import changed_or_again
from rankloop.serve.pages.login import (
    Form,
    form_token,
    login_form,
    may_view,
    require_role,
    require_view,
    user_of,
)
from rankloop.serve.pages.rendering import PageRoute, fragment, page
from rankloop.serve.pages.views import Hit, hits

if TYPE_CHECKING:
    from rankloop.serve.events.store import Rating

__all__ = ["router"]

SCALE = (("0", "Poor"), ("1", "Fair"), ("2", "Good"), ("3", "Perfect"))
LONGEST = 500  # characters of a name or a query in an address
RANKING = 1.5  # seconds of a request in which queries are ranked; the next one goes on
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/judge")
@searching
def judge_page(request: Request) -> Response:
    """The sets; or the queries of one; or the pool of one query."""
    if not may_view(request):
        return login_form(request, status=401)
    who = user_of(request)
    name, query = (request.query_params.get(one, "") for one in ("set", "q"))
    may = who is not None and who.may("judge")
    if not name:
        return _sets(request)
    given: dict[str, Any] = {"place": "judge", "changing": may, "form_token": form_token(request)}
    rater = who.name if who is not None else ""
    found = _found(request, name, query)
    if not query:
        return page(
            request,
            "judge_set.html",
            **given,
            shown=found,
            progress=found.progress(rater),
            next=found.next(1, rater),
            model=_model(request, found),
            **_figures(found),
        )
    if query not in found.pools.queries:
        raise LookupError(f"the query {query[:100]!r} is not in the set {name}")
    return page(
        request,
        "judge_query.html",
        **given,
        shown=found,
        judging=query,
        pool=_pool(request, found, query, rater),
        scale=SCALE,
        others=[
            one.query for one in found.progress(rater) if one.mine < one.documents and one.query != query
        ],
        next=found.next(1, rater),
        **_figures(found),
    )


@router.post("/judge")
@searching
def judge(request: Request, fields: Form) -> Response:
    """Keep a grade at once; scripts get the live scores, others go back to the page."""
    who, service = require_role(request, fields, "judge"), service_of(request)
    name, query, document = (fields.get(one, "") for one in ("set", "q", "document"))
    grade = fields.get("grade", "")
    if grade not in (*dict(SCALE), "unsure"):
        raise ValueError(f"a grade is 0, 1, 2, 3 or unsure, got {grade[:20]!r}")
    if query not in {one.query for one in query_set(service.store, name).queries}:
        raise ValueError(f"the query {query[:100]!r} is not in the set {name[:60]}")
    if document not in service.index:
        raise ValueError("only a document of the index can be judged")
    value = None if grade == "unsure" else float(grade)
    service.store.put_judgment(query, document, value, who.name, reason=fields.get("reason", ""))
    return _answer(request, name, query, {"document": document, "grade": grade})


@router.post("/judge/undo")
@searching
def undo(request: Request, fields: Form) -> Response:
    """Take back the rater's last grade."""
    who, service = require_role(request, fields, "judge"), service_of(request)
    gone = service.store.undo_judgment(who.name)
    name, query = fields.get("set", ""), fields.get("q", "")
    if gone is None:
        return _answer(request, name, query, {"document": "", "grade": ""})
    before = [one for one in service.store.ratings([gone.query]) if one.rater == who.name]
    earlier = next((one for one in before if one.document == gone.document), None)
    changed = {"document": gone.document, "query": gone.query, "grade": _grade_and_note(earlier)[0]}
    return _answer(request, name, query, changed)


@router.post("/judge/model")
@searching
def by_model(request: Request, fields: Form) -> Response:
    """Let the language model judge what people judged, or the rest of a set."""
    who, service = require_role(request, fields, "admin"), service_of(request)
    if service.judge_run is None:
        raise LookupError("no language model is set; name one in [judge] of the config")
    name = fields.get("set", "")
    way = one_of("way", fields.get("way", ""), ("trial", "rest"))
    try:
        service.judge_run.start(_found(request, name), way, who.name)
    except OverBudget as error:
        raise ValueError(str(error)) from None
    return RedirectResponse("/judge?" + urlencode({"set": name}), status_code=303)


@router.get("/judge/export")
@waiting
def export(request: Request, format: str = "trec") -> Response:
    """All judgments as a file of another tool."""
    require_view(request)
    one_of("format", format, FORMATS)
    content = text_of_judgments(_people(service_of(request).store.ratings()), format)
    headers = {"Content-Disposition": f'attachment; filename="judgments.{FORMATS[format]}"'}
    return PlainTextResponse(content, headers=headers)


@router.post("/judge/import")
async def take(request: Request, fields: Form) -> Response:
    """The judgments of a file."""

    def again(wrong: str) -> Response:
        return _sets(request, wrong=wrong, typed=fields.get("judgments", ""), status=400)

    return await in_waiting_thread(request, lambda: changed_or_again(lambda: _import(request, fields), again))


@dataclass(frozen=True)
class Judged:
    """A document of a pool, and this rater's judgment of it."""

    hit: Hit
    grade: str
    reason: str


def _sets(request: Request, *, wrong: str = "", typed: str = "", status: int = 200) -> Response:
    """All sets, and files of judgments in and out."""
    who = user_of(request)
    return page(
        request,
        "judge_sets.html",
        status=status,
        place="judge",
        changing=who is not None and who.may("admin"),
        form_token=form_token(request),
        formats=FORMATS,
        sets=known_sets(service_of(request).store),
        wrong=wrong,
        typed=typed,
    )


def _model(request: Request, found: Judging) -> dict[str, Any] | None:
    """What the page says of the judge by language model; None where there is none."""
    service = service_of(request)
    run, who = service.judge_run, user_of(request)
    if run is None:
        return None
    itself = [
        one
        for one in found.versions
        if same_model(run.judge.model, service.versions.model(one).pipeline, service.registry.version(one))
    ]
    return {
        "run": run,
        "trial": run.trial(service.store.ratings()),
        "spent": run.judge.spent(),
        "itself": itself,
        "may": who is not None and who.may("admin"),
    }


def _figures(found: Judging) -> dict[str, Any]:
    return {
        "scores": found.scores(),
        "judged": float(found.live[0].judged.mean()) if found.pools.queries else 0.0,
        "agreement": found.agreement(),
        "pairs": found.pairs(),
    }


def _found(request: Request, name: str, query: str = "") -> Judging:
    service = service_of(request)
    versions = request.query_params.getlist("v")[:8]
    return judging(service, name, versions, Deadline(RANKING), first=query)


def _pool(request: Request, found: Judging, query: str, rater: str) -> list[Judged]:
    """The pool as it is judged; a document that is not in the index any more is left out."""
    service = service_of(request)
    order = [id for id in found.shuffled(query, rater) if id in service.index]
    asked = query_of(query, service.index, {})
    results = service.searcher.presenter.results(service.index.retriever().looked_up(asked, order))
    ratings = {one.document: one for one in found.ratings if one.rater == rater and one.query == query}
    by_id = {one.id: one for one in hits(results, query, service.index)}
    return [Judged(by_id[id], *_grade_and_note(ratings.get(id))) for id in order if id in by_id]


def _grade_and_note(one: "Rating | None") -> tuple[str, str]:
    if one is None:
        return "", ""
    return "unsure" if one.grade is None else f"{one.grade:g}", one.reason


def _answer(request: Request, name: str, query: str, changed: dict[str, str]) -> Response:
    """To a script what changed and the live scores, to a browser the page again."""
    if "application/json" not in request.headers.get("accept", ""):
        place = {"set": name[:LONGEST], "q": query[:LONGEST]}
        return RedirectResponse("/judge?" + urlencode(place), status_code=303)
    found = _found(request, name, query)
    shown = fragment("live_scores.html", shown=found, **_figures(found))
    return JSONResponse({**changed, "scores": bytes(shown.body).decode()})


def _people(ratings: "Sequence[Rating]") -> "list[Rating]":
    """Ratings with visitors of the former page under one name: their keys are nobody's business."""
    return [one._replace(rater="visitors") if one.source == "thumb" else one for one in ratings]


def _import(request: Request, fields: Form) -> Response:
    who, service = require_role(request, fields, "admin"), service_of(request)  # a file names its raters
    name = fields.get("file", "").strip()[:60] or "pasted"
    found = judgments_of_text(fields.get("judgments", ""), name, lambda id: id in service.index)
    service.store.put_ratings(found)
    note_act(service.store, who.name, "import judgments", file=name, grades=len(found))
    return RedirectResponse("/judge", status_code=303)
