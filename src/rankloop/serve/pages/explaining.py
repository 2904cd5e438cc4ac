"""Why a result is where it is, drawn as bars."""

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from rankloop.serve.api_answers import service_of
from rankloop.serve.pages.rendering import PageRoute, fragment, page
from rankloop.serve.schema import Explanation, FeatureShare, WordShare

__all__ = ["router"]

SHOWN = 8  # features

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/why")
def why(request: Request, q: str = "", document: str = "", version: str = "") -> Response:
    """The reasons for one document: a page, or a piece of one with `fragment=1`."""
    service = service_of(request)
    found = service.explain(q, document, version=version or None)
    told = Told.of(found, service.showing.title_of(document, service.index[document]))
    if "fragment" in request.query_params:
        return fragment("reasons.html", told=told)
    return page(request, "why.html", query=q, told=told)


@dataclass(frozen=True)
class Part:
    """A share of the score, and where its bar begins and how wide it is, in percent of the room."""

    name: str
    value: float | None
    share: float
    meaning: str
    start: float
    width: float


@dataclass(frozen=True)
class Told:
    """An explanation as the page draws it: the largest shares, and the rest as one sum."""

    title: str
    ranker: str
    rank: int | None
    score: float
    base: float
    exact: bool
    zero: float
    features: list[Part]
    others: int
    rest: float
    words: list[WordShare]

    @classmethod
    def of(cls, found: Explanation, title: str) -> "Told":
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
        )


def _part(one: FeatureShare, zero: float, room: float) -> Part:
    width = 100 * abs(one.share) / room
    start = zero if one.share > 0 else zero - width
    return Part(one.name, one.value, one.share, one.meaning, round(start, 2), round(width, 2))
