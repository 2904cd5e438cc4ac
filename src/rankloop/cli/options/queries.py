"""Files of queries."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.search import Query

__all__ = ["read_queries"]


def read_queries(path: str | Path) -> "dict[str, str | Query]":
    """Queries by id from lines of id, tab, text, in which every piece is a word; "-" is standard input."""
    import sys

    from rankloop.search import Query

    if str(path) == "-":
        text, path = sys.stdin.read(), "standard input"
    elif Path(path).is_file():
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{path} is not text in UTF-8; queries are lines of id, tab, text") from None
    else:
        raise FileNotFoundError(f"there is no file of queries {path}")
    queries: dict[str, str | Query] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        qid, tab, words = line.rstrip("\r").partition("\t")
        qid = qid.strip()
        if not tab or not qid:
            raise ValueError(f"{path}, line {number}: wanted an id, a tab and the query, got {line[:100]!r}")
        if qid in queries:
            raise ValueError(f"{path}, line {number}: query {qid!r} appears twice; give it another id")
        queries[qid] = Query.of_words(words)
    if not queries:
        raise ValueError(f"{path} has no queries; wanted lines of id, tab, text")
    return queries
