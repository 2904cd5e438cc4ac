"""What was learned from one person's clicks: where the documents were before, and are now."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from rankloop.serve.events.tables import clicks, pages

if TYPE_CHECKING:
    from rankloop.search import Deadline
    from rankloop.serve.learning.record import LearningRun
    from rankloop.serve.service import Service

__all__ = ["OwnClick", "own_clicks"]

SHOWN = 10  # the last ones


@dataclass(frozen=True)
class OwnClick:
    """A document that a person clicked for a query: at which rank, how often, and its ranks in two versions.

    `weight` is what a click at that rank counts, which undoes how rarely the rank is seen; a rank is None
    below the first ten.
    """

    query: str
    document: str
    position: int
    clicks: int
    weight: float | None
    before: int | None
    after: int | None

    @property
    def moved(self) -> int:
        """Ranks that it rose; below the first ten counts as the rank after them."""
        return (self.before or 11) - (self.after or 11)


def own_clicks(service: "Service", run: "LearningRun", user: str, deadline: "Deadline") -> list[OwnClick]:
    """The clicks of a person that a run learned from, those that moved most first."""
    if run.version is None or "production" not in run.record:
        return []
    window = run.record.get("window", {})
    time = func.max(clicks.c.time)
    statement = (
        select(clicks.c.query, clicks.c.document, clicks.c.position, func.count())
        .join(pages, pages.c.page_id == clicks.c.page_id)
        .where(
            pages.c.user == user, clicks.c.bot.is_(False), clicks.c.time <= window.get("until", run.started)
        )
        .where(clicks.c.time >= (window.get("since") or 0.0))
        .group_by(clicks.c.query, clicks.c.document, clicks.c.position)
        .order_by(time.desc(), clicks.c.document)
        .limit(SHOWN)
    )
    with service.store.reading() as connection:
        rows = connection.execute(statement).all()
    versions = (str(run.record["production"]), run.version)
    tops = service.rankings.tops(versions, dict.fromkeys(row[0] for row in rows), deadline)
    curves = run.record.get("curves") or {}
    curve = [float(value) for value in next(iter(curves.values()))["values"]] if curves else []
    found = [
        OwnClick(
            query,
            document,
            position,
            int(number),
            1 / curve[position - 1] if position <= len(curve) else None,
            *(top.index(document) + 1 if document in top else None for top in tops[query]),
        )
        for query, document, position, number in rows
        if query in tops
    ]
    return sorted(found, key=lambda one: -abs(one.moved))
