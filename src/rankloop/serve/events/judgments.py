"""Grades that people give to results, which become a qrels file."""

import re
from urllib.parse import quote

from sqlalchemy import Connection, select

from rankloop.data import Qrels
from rankloop.serve.events.shown_page import check_text
from rankloop.serve.events.tables import judgments
from rankloop.serve.events.writing import upsert

__all__ = ["as_text", "put_judgment", "read_judgments"]


def put_judgment(
    connection: Connection, query: str, document: str, grade: float, user: str, time: float
) -> None:
    """Store a grade; it replaces the user's earlier one."""
    if not 0 <= grade < float("inf"):
        raise ValueError(f"a grade is a number from 0, got {grade}")
    if not query.strip() or not document.strip():
        raise ValueError("a judgment names a query and a document; one of them is empty")
    row = {"query": query, "document": document, "user": user}
    for name, value in row.items():
        check_text(name, value)
    upsert(connection, judgments, {**row, "grade": grade, "time": time})


def read_judgments(connection: Connection) -> Qrels:
    """Everyone's grades, averaged."""
    statement = select(judgments.c.query, judgments.c.document, judgments.c.grade).order_by(
        judgments.c.query, judgments.c.document
    )
    grades: dict[str, dict[str, list[float]]] = {}
    for query, document, grade in connection.execute(statement):
        grades.setdefault(query, {}).setdefault(document, []).append(grade)
    return Qrels.from_dict(
        {
            query: {document: sum(given) / len(given) for document, given in by_document.items()}
            for query, by_document in grades.items()
        }
    )


def as_text(qrels: Qrels) -> str:
    """As a qrels file; blanks in ids are written as %20, and percent signs as %25.

    >>> print(as_text(Qrels.from_dict({"red shoes": {"a": 2, "100%": 0.5}})))
    red%20shoes 0 a 2
    red%20shoes 0 100%25 0.5
    """
    return "".join(
        f"{_one_word(query)} 0 {_one_word(document)} {grade:g}\n"
        for query, grades in qrels.to_dict().items()
        for document, grade in grades.items()
    )


def _one_word(name: str) -> str:
    """An id with blanks percent-encoded, which can be reversed."""
    return re.sub(r"[%\s]", lambda found: quote(found[0]), name)
