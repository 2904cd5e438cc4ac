"""Two rankers side by side; nothing is recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from rankloop.search import Deadline, Searchable
from rankloop.serve.http.answers import in_search_thread, service_of
from rankloop.serve.http.schema import Comparison
from rankloop.serve.pages.evidence import name_of
from rankloop.serve.pages.login import login_form, may_view
from rankloop.serve.pages.rendering import PageRoute, page
from rankloop.serve.pages.views import hits

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/compare")
async def compare(request: Request, q: str = "", a: str = "", b: str = "") -> Response:
    """What each of two versions shows for a query, and how far documents move between them."""
    return await in_search_thread(request, lambda deadline: _compared(request, deadline, q, a, b))


def _compared(request: Request, deadline: Deadline, q: str, a: str, b: str) -> Response:
    if not may_view(request):
        return login_form(request, status=401)
    service = service_of(request)
    query = " ".join(q.split())
    versions = {one.version: name_of(one) for one in service.registry.versions()}
    production = str(service.versions.live.roles.production)
    others = [one for one in versions if one != production]
    left, right = a or (others[0] if others else production), b or production
    sides, found = [], 0
    if query:
        compared = service.searcher.compare(query, [left, right], service.config.k, deadline=deadline)
        sides, found = _sides(compared, query, service.index), compared.found
    both = [{one.id for one in side.results} for side in sides]
    return page(
        request,
        "compare.html",
        place="compare",
        query=query,
        versions=versions,
        a=left,
        b=right,
        sides=sides if any(both) else [],
        found=found,
        shared=len(both[0] & both[1]) if both else 0,
        longest_side=max(map(len, both), default=0),
    )


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
