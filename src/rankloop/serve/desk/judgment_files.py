"""Judgments of the desk in the formats of other tools, and from them."""

import re
import tempfile
import time
from collections.abc import Callable
from math import isnan
from pathlib import Path
from urllib.parse import quote, unquote

from rankloop.data import Judgment, Judgments, read_judgments, write_judgments
from rankloop.serve.events.store import Rating

__all__ = ["FORMATS", "judgments_of_text", "text_of_judgments"]

FORMATS = {
    "trec": "qrels",
    "quepid": "csv",
    "quepid-book": "json",
    "workbench": "json",
    "rre": "json",
    "o19s": "csv",
}
_IDS = ("trec", "beir")  # formats with an id of each query and not its text


def text_of_judgments(ratings: list[Rating], format: str) -> str:
    """All grades as a file; in formats of ids a query is its text. There blanks are %20, percent signs %25.

    Only "quepid-book" keeps raters and reasons apart. Who is unsure is left out.
    """
    rows = tuple(
        Judgment(
            one.query,
            _one_word(one.document) if format in _IDS else one.document,
            one.grade,
            qid=_one_word(one.query) if format in _IDS else "",
            rater=one.rater,
            reason=one.reason,
        )
        for one in ratings
        if one.grade is not None
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments"
        write_judgments(Judgments(rows, "rankloop"), path, format=format)
        return path.read_text(encoding="utf-8")


def judgments_of_text(content: str, name: str, known: Callable[[str], bool]) -> list[Rating]:
    """The grades in a file of another tool, or of ours; one without a rater is by the file's name.

    `known` tells the ids of documents, which `text_of_judgments` may have encoded.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "judgments"
        path.write_text(content, encoding="utf-8")
        read = read_judgments(path)
    now = time.time()
    found = []
    for row in read.rows:
        if row.rated and not isnan(row.rating):
            query = " ".join((row.query if row.query != row.qid else unquote(row.qid)).split())
            rater = row.rater or f"file {name}"
            document = row.docid if known(row.docid) or not known(unquote(row.docid)) else unquote(row.docid)
            found.append(Rating(query, document, rater, float(row.rating), row.reason, f"file {name}", now))
    if not found:
        raise ValueError("the file has no grade; it may hold queries or documents only")
    return found


def _one_word(text: str) -> str:
    """A text without blanks, which `unquote` reverses."""
    return re.sub(r"[%\s]", lambda found: quote(found[0]), text)
