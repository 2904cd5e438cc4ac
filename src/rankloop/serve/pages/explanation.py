"""Why a result is where it is, drawn as bars."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from rankloop.search import Deadline
from rankloop.serve.http.answers import address_of, in_search_thread, service_of
from rankloop.serve.http.schema import Explanation, FeatureShare, WordShare
from rankloop.serve.pages.login import shows_versions
from rankloop.serve.pages.rendering import PageRoute, figure, fragment, page
from rankloop.serve.pages.visitors import visitor

__all__ = ["router"]

SHOWN, GAPS = 8, 4  # features
LONGEST = 60  # characters of the other's title

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/why")
async def why(
    request: Request, q: str = "", document: str = "", above: str = "", version: str = ""
) -> Response:
    """Why a document is where it is, and why `above` is above it: a page, or a part of one (`fragment=1`)."""
    service = service_of(request)

    def title(id: str) -> str:
        return service.searcher.presenter.title_of(id, service.index[id])

    def work(deadline: Deadline) -> Response:
        named = shows_versions(request)
        if version and not named:
            raise PermissionError("versions are shown with the administration token; log in first")
        unit = None if named else service.recorder.unit(visitor(request).id, address_of(request))
        found = service.searcher.explain(
            q, document, above or None, version or None, unit=unit, deadline=deadline
        )
        found = found if named else found.model_copy(update={"ranker": None})
        view = ExplanationView.of(found, title(document), title(above) if above else "")
        if "fragment" in request.query_params:
            return fragment("reasons.html", why=view, whole=False)
        return page(request, "why.html", query=q, why=view, whole=True, desk=named)

    return await in_search_thread(request, work)


@dataclass(frozen=True)
class Part:
    """A share of the score, with the start and width of its bar in percent."""

    name: str
    value: float | None
    share: float
    meaning: str
    start: float
    width: float


@dataclass(frozen=True)
class Gap:
    """What one feature adds to the difference of two scores, with its values in the upper and lower."""

    name: str
    share: float
    upper: float | None
    lower: float | None


@dataclass(frozen=True)
class Rival:
    """Why a document is above or below another, and one change that would lift the lower."""

    heading: str
    gaps: list[Gap]
    change: str

    @classmethod
    def of(cls, found: Explanation, other: str) -> "Rival":
        against: Any = found.against
        above = against["above"]["document"] == found.document
        name = other if len(other) <= LONGEST else f"{other[:LONGEST]}…"
        by = figure(against["above"]["score"] - against["below"]["score"])
        change = ""
        if against["changes"]:
            one = against["changes"][0]
            now = "unknown" if one["now"] is None else figure(one["now"])
            lifted = f"{name} would reach its score" if above else f"it would reach the score of {name}"
            change = f"With {one['feature']} at {figure(one['value'])} instead of {now}, {lifted}."
        gaps = [
            Gap(one["feature"], one["share"], one["above"], one["below"])
            for one in against["features"]
            if one["share"]
        ]
        heading = f"It is above {name} by {by}" if above else f"{name} is above it by {by}"
        return cls(heading, gaps[:GAPS], change)


@dataclass(frozen=True)
class ExplanationView:
    """An explanation as the page shows it: the largest shares, and the sum of the others."""

    title: str
    ranker: str | None
    rank: int | None
    score: float
    base: float
    exact: bool
    zero: float
    features: list[Part]
    others: int
    rest: float
    words: list[WordShare]
    rival: "Rival | None"

    @classmethod
    def of(cls, found: Explanation, title: str, other: str = "") -> "ExplanationView":
        moving = [one for one in found.features if one.share]
        shown = moving[:SHOWN]
        least = min((one.share for one in shown), default=0.0)
        most = max((one.share for one in shown), default=0.0)
        room = max(most, 0.0) - min(least, 0.0) or 1.0
        zero = 100 * -min(least, 0.0) / room
        return cls(
            title=title,
            ranker=found.ranker,
            rank=found.rank,
            score=found.score,
            base=found.base,
            exact=found.exact,
            zero=round(zero, 2),
            features=[_part(one, zero, room) for one in shown],
            others=len(moving) - len(shown),
            rest=sum(one.share for one in moving[SHOWN:]),
            words=found.words,
            rival=Rival.of(found, other) if found.against else None,
        )


def _part(one: FeatureShare, zero: float, room: float) -> Part:
    width = 100 * abs(one.share) / room
    start = zero if one.share > 0 else zero - width
    return Part(one.name, one.value, one.share, one.meaning, round(start, 2), round(width, 2))
