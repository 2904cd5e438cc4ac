"""A text collection: documents, queries and judgments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankloop.data.files.records import Faults
from rankloop.data.qrels import Qrels

__all__ = ["Corpus", "judged_corpus"]


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

    def text(self, name: str, field: str) -> str:
        """One field of a document; an error where the collection does not have it."""
        document = self.documents.get(name)
        if document is None:
            raise ValueError(
                f"document {name!r} is judged and not in the collection; add it, or drop the judgment"
            )
        if field not in document:
            raise ValueError(f"document {name!r} has no field {field!r}; it has {', '.join(document)}")
        return str(document[field])

    def __repr__(self) -> str:
        return (
            f"Corpus({len(self.documents):,} documents, {len(self.queries):,} queries, "
            f"{len(self.qrels.docid):,} judgments)"
        )


def judged_corpus(
    documents: Mapping[str, Mapping[str, Any]], texts: Mapping[str, str], qrels: Qrels, faults: Faults
) -> Corpus:
    """The documents, and the judged queries; a judged query without a text is a fault."""
    lost = [query for query in qrels if query not in texts]
    if lost:
        faults.queries(lost)
        qrels = Qrels.from_dict({query: of for query, of in qrels.to_dict().items() if query in texts})
    return Corpus(documents, {query: texts[query] for query in qrels}, qrels)
