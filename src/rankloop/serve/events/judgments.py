"""Grades that raters give to documents, each with its reason, time and source."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, text

from rankloop.data import Qrels
from rankloop.serve.events.shown_page import check_text
from rankloop.serve.events.tables import judgments
from rankloop.serve.events.writing import having_ids

__all__ = ["MODEL", "Rating", "averaged", "forget_rater", "put_judgments", "ratings", "undo"]

LONGEST_REASON = 2000
MODEL = "model"  # how the source of a language model's grades begins, and its name as a rater
_TRIAL = "model trial"


class Rating(NamedTuple):
    """A rater's judgment of a document for a query; the grade is None for "unsure".

    `source` is "desk", "thumb" (of the former page), the name of a file, or "model" for a language model's
    ("model trial" while it is compared with people).
    """

    query: str
    document: str
    rater: str
    grade: float | None
    reason: str = ""
    source: str = "desk"
    time: float = 0.0


def put_judgments(connection: Connection, given: Iterable[Rating]) -> None:
    """Add grades; each replaces the rater's earlier one of the same document, which is kept for undoing."""
    last: dict[str, int] = {}
    rows = []
    for one in given:
        _check(one)
        if one.rater not in last:
            last[one.rater] = _last_number(connection, one.rater)
        last[one.rater] += 1
        rows.append({**one._asdict(), "number": last[one.rater]})
    if rows:
        connection.execute(insert(judgments), rows)


def undo(connection: Connection, rater: str) -> Rating | None:
    """Delete the newest row that a rater wrote at the desk."""
    _last_number(connection, rater)
    newest = (
        select(judgments)
        .where(judgments.c.rater == rater, judgments.c.source == "desk")
        .order_by(judgments.c.number.desc())
        .limit(1)
    )
    row = connection.execute(newest).mappings().first()
    if row is None:
        return None
    found = judgments.c.rater == rater, judgments.c.number == row["number"]
    connection.execute(delete(judgments).where(*found))
    return Rating(**{name: row[name] for name in Rating._fields})


def ratings(connection: Connection, queries: Sequence[str] | None = None) -> list[Rating]:
    """The last word of each rater on each document."""
    keys = judgments.c.query, judgments.c.document, judgments.c.rater
    newest = func.row_number().over(partition_by=keys, order_by=judgments.c.number.desc())
    numbered = select(judgments, newest.label("age"))
    if queries is None:
        rows = connection.execute(numbered).mappings().all()
    else:
        rows = list(having_ids(connection, numbered, judgments.c.query, list(queries)).mappings())
    found = (Rating(**{name: row[name] for name in Rating._fields}) for row in rows if row["age"] == 1)
    return sorted(found, key=lambda one: one[:3])


def forget_rater(connection: Connection, rater: str) -> int:
    """Delete all judgments of a rater."""
    return int(connection.execute(delete(judgments).where(judgments.c.rater == rater)).rowcount)


def averaged(given: Iterable[Rating]) -> Qrels:
    """The mean grade of each document; who is unsure is left out.

    Judgments of people count alone; a language model's grade counts where nobody judged, and not in a trial.
    """
    given = list(given)
    grades: dict[str, dict[str, list[float]]] = {}
    for by_model in (False, True):
        known = {(query, one) for query, documents in grades.items() for one in documents} if by_model else ()
        for one in given:
            if one.grade is None or one.source == _TRIAL or one.source.startswith(MODEL) != by_model:
                continue
            if (one.query, one.document) not in known:
                grades.setdefault(one.query, {}).setdefault(one.document, []).append(one.grade)
    return Qrels.from_dict(
        {
            query: {document: sum(every) / len(every) for document, every in by_document.items()}
            for query, by_document in grades.items()
        }
    )


def _last_number(connection: Connection, rater: str) -> int:
    """The number of a rater's last row; until the transaction ends nobody else adds one."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:rater))"), {"rater": rater})
    newest = select(func.max(judgments.c.number)).where(judgments.c.rater == rater)
    return int(connection.execute(newest).scalar() or 0)


def _check(one: Rating) -> None:
    if one.grade is not None and not 0 <= one.grade < float("inf"):
        raise ValueError(f"a grade is a number from 0, got {one.grade}")
    if not one.query.strip() or not one.document.strip():
        raise ValueError("a judgment names a query and a document; one of them is empty")
    for name in ("query", "document", "rater", "source"):
        check_text(name, getattr(one, name))
    check_text("reason", one.reason, LONGEST_REASON)
