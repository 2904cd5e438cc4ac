"""A text collection: documents, queries and judgments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankloop.data.qrels import Qrels

__all__ = ["Corpus"]


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents by id with their fields, queries by id with their text, and the judgments.

    >>> small = Corpus({"d1": {"title": "red shoes"}}, {"q1": "shoes"}, Qrels(["q1"], ["d1"], [1]))
    >>> small
    Corpus(1 documents, 1 queries, 1 judgments)
    """

    documents: Mapping[str, Mapping[str, Any]]
    queries: Mapping[str, str]
    qrels: Qrels

    def __repr__(self) -> str:
        return (
            f"Corpus({len(self.documents):,} documents, {len(self.queries):,} queries, "
            f"{len(self.qrels.docid):,} judgments)"
        )
