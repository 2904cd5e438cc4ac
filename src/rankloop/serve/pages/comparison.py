"""Two versions compared over a query set, or side by side on one query; nothing is recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from rankloop.report import gains_and_losses
from rankloop.search import Deadline, Searchable
from rankloop.serve.desk.acts import note_act
from rankloop.serve.desk.query_sets import known_sets, query_set
from rankloop.serve.desk.set_comparison import SetComparison, compare_over_set, keep_snapshot, kept_snapshot
from rankloop.serve.http.answers import in_search_thread, searching, service_of, waiting
from rankloop.serve.http.schema import Comparison
from rankloop.serve.pages.evidence import name_of
from rankloop.serve.pages.login import Form, form_token, login_form, may_view, require_role, user_of
from rankloop.serve.pages.panels import drawn
from rankloop.serve.pages.rendering import PageRoute, page
from rankloop.serve.pages.views import hits

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["router"]

RANKING = 2.0  # seconds of a request in which queries are ranked
EXPLAINED = 3  # documents that moved most
SHARES = 3  # features of each
DRAWN = 5  # queries, from which on a picture is shown
router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/compare")
async def compare(request: Request) -> Response:
    """Wins and losses over a set; or what each of two versions shows for a query, and how documents move."""
    return await in_search_thread(request, lambda deadline: _compared(request, deadline))


@router.post("/compare/snapshot")
@searching
def snapshot(request: Request, fields: Form) -> Response:
    """Keep a comparison over a set as it is now."""
    who, service = require_role(request, fields, "judge"), service_of(request)
    found = _over_set(service, fields.get("set", ""), fields.get("a", ""), fields.get("b", ""))
    if found.waiting:
        raise ValueError(f"{found.waiting} queries are not ranked yet; look at the comparison again first")
    id = keep_snapshot(service.store, found, who.name)
    note_act(service.store, who.name, "snapshot", set=found.set, a=found.a, b=found.b, id=id)
    return RedirectResponse(f"/compare/kept/{quote(id)}", status_code=303)


@router.get("/compare/kept/{id}")
@waiting
def kept(request: Request, id: str) -> Response:
    """A comparison that was kept."""
    if not may_view(request):
        return login_form(request, status=401)
    service = service_of(request)
    found, author, when = kept_snapshot(service.store, id)
    versions = {one.version: name_of(one) for one in service.registry.versions()}
    return page(
        request,
        "compare_set.html",
        place="compare",
        versions=versions,
        a=found.a,
        b=found.b,
        chosen=found.set,
        sets=known_sets(service.store),
        found=found,
        picture=_picture(found),
        keeping=False,
        form_token="",
        kept={"author": author, "time": when},
    )


def _compared(request: Request, deadline: Deadline) -> Response:
    if not may_view(request):
        return login_form(request, status=401)
    service, given = service_of(request), request.query_params
    query, address = " ".join(given.get("q", "").split()), given.get("set", "")
    versions = {one.version: name_of(one) for one in service.registry.versions()}
    production = str(service.versions.live.roles.production)
    others = [one for one in reversed(versions) if one != production]
    left = given.get("a") or production
    right = given.get("b") or (others[0] if others else production)
    shown: dict[str, Any] = {
        "place": "compare",
        "versions": versions,
        "a": left,
        "b": right,
        "chosen": address,
    }
    if address and not query:
        found = _over_set(service, address, left, right)
        who = user_of(request)
        may = who is not None and who.may("judge")
        kept: dict[str, Any] = {"keeping": may, "form_token": form_token(request), "kept": None}
        shown |= {"sets": known_sets(service.store), "found": found, "picture": _picture(found)}
        return page(request, "compare_set.html", **shown, **kept)
    sides, count, reasons = [], 0, []
    if query:
        compared = service.searcher.compare(query, [left, right], service.config.k, deadline=deadline)
        sides, count = _sides(compared, query, service.index), compared.found
        reasons = _reasons(service, compared, deadline)
    both = [{one.id for one in side.results} for side in sides]
    return page(
        request,
        "compare.html",
        **shown,
        query=query,
        sets=known_sets(service.store),
        sides=sides if any(both) else [],
        found=count,
        reasons=reasons,
        shared=len(both[0] & both[1]) if both else 0,
        longest_side=max(map(len, both), default=0),
    )


def _over_set(service: "Service", address: str, a: str, b: str) -> SetComparison:
    chosen = query_set(service.store, address)
    return compare_over_set(
        service.store, service.registry, service.rankings, chosen, a, b, Deadline(RANKING)
    )


def _picture(found: SetComparison) -> Markup | None:
    """The change of each query as a bar; of very few queries the table alone says more."""
    known = found.known
    if len(known) < DRAWN:
        return None
    figure = gains_and_losses(
        [one.change for one in known], queries=[one.query for one in known], metric="NDCG@10", title=""
    )
    return drawn(figure, "Change by query")


@dataclass(frozen=True)
class Moved:
    """A result, and how it moved from the left side to the right."""

    id: str
    title: Markup
    snippet: Markup
    href: str
    moved: str
    way: str


@dataclass(frozen=True)
class Column:
    ranker: str | None
    seconds: float
    results: list[Moved]


@dataclass(frozen=True)
class Reason:
    """Why a document moved: its rank and the largest shares of its score by each version."""

    title: str
    ranks: tuple[int | None, int | None]
    shares: tuple[list[tuple[str, float]], list[tuple[str, float]]]


def _reasons(service: "Service", compared: Comparison, deadline: Deadline) -> list[Reason]:
    """The documents that moved most, with what makes their score on each side."""
    orders = [[one.id for one in side.results] for side in compared.sides]
    titles = {one.id: one.title for side in compared.sides for one in side.results}
    far = {
        id: abs(_place(id, orders[0]) - _place(id, orders[1]))
        for id in titles
        if _place(id, orders[0]) != _place(id, orders[1])
    }
    found = []
    for id in sorted(far, key=lambda one: (-far[one], one))[:EXPLAINED]:
        sides = [
            service.searcher.explain(compared.query, id, version=side.ranker, deadline=deadline)
            for side in compared.sides
        ]
        shares = [[(one.name, one.share) for one in side.features[:SHARES] if one.share] for side in sides]
        found.append(Reason(titles[id], (sides[0].rank, sides[1].rank), (shares[0], shares[1])))
    return found


def _place(id: str, order: Sequence[str]) -> int:
    return order.index(id) if id in order else len(order)


def _sides(compared: Comparison, query: str, index: Searchable) -> list[Column]:
    orders = [[one.id for one in side.results] for side in compared.sides]
    columns = []
    for at, side in enumerate(compared.sides):
        results = []
        for one in hits(side.results, query, index):
            moved, way = _move(one.id, orders, right=at == 1)
            results.append(Moved(one.id, one.title, one.snippet, one.href, moved, way))
        columns.append(Column(side.ranker, side.seconds.get("total", sum(side.seconds.values())), results))
    return columns


def _move(id: str, orders: Sequence[Sequence[str]], *, right: bool) -> tuple[str, str]:
    """The mark beside a result: on the left whether it is gone, on the right how it moved.

    >>> _move("a", [["a", "b"], ["b", "a"]], right=True), _move("b", [["a"], ["b"]], right=True)
    (('▼ 1', 'down'), ('new', 'up'))
    """
    left = orders[0].index(id) if id in orders[0] else None
    if not right:
        return ("", "") if id in orders[1] else ("gone", "down")
    if left is None:
        return "new", "up"
    by = left - orders[1].index(id)
    return ("=", "") if by == 0 else (f"▲ {by}", "up") if by > 0 else (f"▼ {-by}", "down")
