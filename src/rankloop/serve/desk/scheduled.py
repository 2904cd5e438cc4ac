"""Comparisons that the service makes every few hours: kept, with their results."""

import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, insert, select, update

from rankloop.serve.desk.query_sets import query_set
from rankloop.serve.desk.set_comparison import SetComparison, keep_snapshot
from rankloop.serve.events.desk_tables import comparison_results, comparisons
from rankloop.serve.events.tables import snapshots

if TYPE_CHECKING:
    from rankloop.serve.events.store import Store
    from rankloop.serve.models.registry import Registry

__all__ = [
    "Result",
    "Scheduled",
    "add_comparison",
    "claim_due",
    "end_comparison",
    "failing",
    "keep_result",
    "known_comparisons",
    "past_results",
    "versions_of",
]

PRODUCTION, NEWEST = "production", "newest"  # whichever version that is at the time
HOUR = 3600.0
LEASE = 900.0  # seconds after which a run that was killed is made again
MOST = 100  # comparisons at a time
KEPT = 500  # results of each


class Scheduled(NamedTuple):
    """A comparison of version `b` with `a` over a set, every so many hours."""

    id: str
    set: str
    a: str
    b: str
    max_loss: float
    hours: float
    who: str
    time: float
    next: float
    ended: float | None


class Result(NamedTuple):
    """How one run ended: "passed", "failed", "unknown" (nothing is known of the queries) or "error".

    `content` is the id of the snapshot with all figures.
    """

    id: str
    comparison: str
    state: str
    message: str
    content: str
    time: float


def add_comparison(
    store: "Store", registry: "Registry", set: str, a: str, b: str, *, max_loss: float, hours: float, who: str
) -> Scheduled:
    """Keep a comparison; its first run is at once. A version may be "production" or "newest"."""
    query_set(store, set)
    for one in (a, b):
        if one not in (PRODUCTION, NEWEST):
            registry.version(one)
    if a == b:
        raise ValueError(f"a comparison has two versions, got {a} twice")
    if not 0 <= max_loss <= 1:
        raise ValueError(f"the largest loss is one of NDCG, from 0 to 1, got {max_loss:g}")
    if not 0.1 <= hours <= 24 * 366:
        raise ValueError(f"a comparison is made every 0.1 to {24 * 366:,} hours, got {hours:g}")
    if len(known_comparisons(store)) >= MOST:
        raise ValueError(f"there are {MOST} comparisons already; end some first")
    now = time.time()
    made = Scheduled(secrets.token_hex(6), set, a, b, max_loss, hours, who, now, now, None)
    with store.writing() as connection:
        connection.execute(insert(comparisons), made._asdict())
    return made


def end_comparison(store: "Store", id: str) -> None:
    """Make no more runs; the results stay."""
    ending = update(comparisons).where(comparisons.c.id == id, comparisons.c.ended.is_(None))
    with store.writing() as connection:
        if not connection.execute(ending.values(ended=time.time())).rowcount:
            raise LookupError(f"there is no scheduled comparison {id[:40]!r}")


def known_comparisons(store: "Store") -> list[Scheduled]:
    """The comparisons that go on, the oldest first."""
    statement = select(comparisons).where(comparisons.c.ended.is_(None))
    with store.reading() as connection:
        rows = connection.execute(statement.order_by(comparisons.c.time, comparisons.c.id)).mappings().all()
    return [Scheduled(**row) for row in rows]


def past_results(store: "Store", comparison: str, n: int = 50) -> list[Result]:
    """The last results, newest first."""
    statement = select(comparison_results).where(comparison_results.c.comparison == comparison)
    newest = statement.order_by(comparison_results.c.time.desc(), comparison_results.c.id).limit(n)
    with store.reading() as connection:
        return [Result(**row) for row in connection.execute(newest).mappings()]


def failing(store: "Store") -> list[tuple[Scheduled, Result]]:
    """The comparisons whose last run failed or could not be made."""
    last = [(one, past_results(store, one.id, 1)) for one in known_comparisons(store)]
    return [(one, found[0]) for one, found in last if found and found[0].state in ("failed", "error")]


def claim_due(store: "Store", now: float | None = None) -> Scheduled | None:
    """A comparison whose time has come, for one process alone; one that is killed is made again."""
    at = time.time() if now is None else now
    for one in known_comparisons(store):
        if one.next > at:
            continue
        due = (comparisons.c.id == one.id, comparisons.c.next == one.next)
        taken = update(comparisons).where(*due, comparisons.c.ended.is_(None)).values(next=at + LEASE)
        with store.writing() as connection:
            if connection.execute(taken).rowcount:
                return one
    return None


def versions_of(one: Scheduled, registry: "Registry") -> tuple[str, str]:
    """The versions that are compared now."""
    names = {PRODUCTION: str(registry.roles().production), NEWEST: registry.versions()[-1].version}
    return names.get(one.a, one.a), names.get(one.b, one.b)


def keep_result(
    store: "Store", one: Scheduled, found: SetComparison | None, trouble: str = "", now: float | None = None
) -> Result:
    """Keep how a run ended, and when the next one is."""
    at = time.time() if now is None else now
    state, message, content = "error", trouble, ""
    if found is not None:
        lost = found.lost(one.max_loss)
        state = "failed" if lost else "passed" if found.known else "unknown"
        message = "; ".join(lost) or f"{found.wins} wins, {found.losses} losses, {found.ties} ties"
        content = keep_snapshot(store, found, "schedule")
    made = Result(secrets.token_hex(8), one.id, state, message[:1000], content, at)
    with store.writing() as connection:
        connection.execute(insert(comparison_results), made._asdict())
        again = update(comparisons).where(comparisons.c.id == one.id)
        connection.execute(again.values(next=at + HOUR * one.hours))
        newest = (
            select(comparison_results.c.id, comparison_results.c.content)
            .where(comparison_results.c.comparison == one.id)
            .order_by(comparison_results.c.time.desc(), comparison_results.c.id)
        )
        old = connection.execute(newest.offset(KEPT)).all()
        if old:
            connection.execute(delete(snapshots).where(snapshots.c.id.in_([row[1] for row in old])))
            gone = comparison_results.c.id.in_([row[0] for row in old])
            connection.execute(delete(comparison_results).where(gone))
    return made
