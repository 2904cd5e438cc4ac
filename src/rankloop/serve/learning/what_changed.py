"""What a learned version changes: the queries that move most, and the clicks behind it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from rankloop.serve.desk.sampling import asked_queries
from rankloop.serve.events.tables import clicks, pages
from rankloop.serve.events.writing import having_ids

if TYPE_CHECKING:
    from rankloop.search import Deadline
    from rankloop.serve.learning.record import LearningRun
    from rankloop.serve.service import Service

__all__ = ["ChangedQuery", "Voice", "what_changed"]

LOOKED, SHOWN, TOP = 60, 5, 5  # queries that are ranked, that are shown, and ranks of each


class Voice(NamedTuple):
    """Clicks on a document at a rank, how often it was shown there, and what one click counts."""

    rank: int
    clicks: int
    shown: int
    weight: float | None


@dataclass(frozen=True)
class ChangedQuery:
    """A query before and after, the document that rose most, and the clicks on it."""

    query: str
    people: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    risen: str
    ranks: tuple[int | None, int]
    voices: tuple[Voice, ...]


def what_changed(service: "Service", run: "LearningRun", deadline: "Deadline") -> list[ChangedQuery]:
    """The frequent queries whose first ranks changed most between production then and the new version."""
    if run.version is None or "production" not in run.record:
        return []
    old, new = str(run.record["production"]), run.version
    asked = sorted(asked_queries(service.store, until=run.started), key=lambda one: (-one.people, one.query))
    people = {one.query: one.people for one in asked[:LOOKED]}
    tops = service.rankings.tops((old, new), people, deadline)
    moved = sorted(tops, key=lambda query: (-_moved(*tops[query]) * people[query], query))
    curve = _curve(run.record)
    found = []
    for query in moved[:SHOWN]:
        before, after = tops[query]
        risen = _risen(before, after)
        if risen is None:
            continue
        ranks = (before.index(risen) + 1 if risen in before else None, after.index(risen) + 1)
        voices = _voices(service, query, risen, curve)
        found.append(ChangedQuery(query, people[query], before[:TOP], after[:TOP], risen, ranks, voices))
    return found


def _moved(before: tuple[str, ...], after: tuple[str, ...]) -> float:
    """How much the first ranks changed: 1 / rank of every place with another document."""
    return sum(1 / rank for rank, (a, b) in enumerate(zip(before, after, strict=False), 1) if a != b)


def _risen(before: tuple[str, ...], after: tuple[str, ...]) -> str | None:
    """The document that rose most, by what its ranks are worth."""
    worth = {
        one: 1 / rank - (1 / (before.index(one) + 1) if one in before else 0.0)
        for rank, one in enumerate(after, 1)
    }
    best = max(worth, key=lambda one: worth[one], default=None)
    return best if best is not None and worth[best] > 0 else None


def _curve(record: Mapping[str, object]) -> list[float]:
    curves = record.get("curves")
    if not isinstance(curves, Mapping) or not curves:
        return []
    return [float(value) for value in next(iter(curves.values()))["values"]]


def _voices(service: "Service", query: str, document: str, curve: list[float]) -> tuple[Voice, ...]:
    """The clicks on a document by rank, with the weight that undoes how rarely a rank is seen."""
    hits = select(clicks.c.position, func.count()).where(
        clicks.c.query == query, clicks.c.document == document, clicks.c.bot.is_(False)
    )
    seen = select(pages.c.documents).where(pages.c.bot.is_(False))
    with service.store.reading() as connection:
        counted = connection.execute(hits.group_by(clicks.c.position))
        clicked: dict[int, int] = {rank: int(number) for rank, number in counted}
        shown: dict[int, int] = {}
        for (documents,) in having_ids(connection, seen, pages.c.query, [query]):
            ids = json.loads(documents)
            if document in ids:
                rank = ids.index(document) + 1
                shown[rank] = shown.get(rank, 0) + 1
    return tuple(
        Voice(rank, clicked.get(rank, 0), number, 1 / curve[rank - 1] if rank <= len(curve) else None)
        for rank, number in sorted(shown.items())
    )
