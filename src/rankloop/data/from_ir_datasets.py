"""Collections of ir_datasets, by the methods of its objects."""

from collections.abc import Iterator
from typing import Any

from rankloop.data.corpus import Corpus
from rankloop.data.qrels import Qrels

__all__ = ["from_ir_datasets"]


def from_ir_datasets(dataset: Any) -> Corpus:
    """Documents, judged queries and judgments of `ir_datasets.load(...)`, or of any object with its methods.

    `docs_iter()`, `queries_iter()` and `qrels_iter()` are called; rankloop does not need the package. A
    document keeps its fields but the id. The text of a query is its `text`, else its `title` (TREC topics),
    else what `default_text()` says.

    >>> from types import SimpleNamespace
    >>> from collections import namedtuple
    >>> Doc, Query = namedtuple("Doc", "doc_id text"), namedtuple("Query", "query_id text")
    >>> Qrel = namedtuple("Qrel", "query_id doc_id relevance")
    >>> small = SimpleNamespace(docs_iter=lambda: [Doc("d1", "red shoes")],
    ...     queries_iter=lambda: [Query("q1", "shoes")], qrels_iter=lambda: [Qrel("q1", "d1", 2)])
    >>> from_ir_datasets(small)
    Corpus(1 documents, 1 queries, 1 judgments)
    """
    documents = {}
    for number, one in enumerate(_called(dataset, "docs_iter"), 1):
        fields = one._asdict() if hasattr(one, "_asdict") else dict(vars(one))
        documents[str(_part(one, "doc_id", f"document {number}"))] = {
            name: value for name, value in fields.items() if name != "doc_id"
        }
    texts = {
        str(_part(one, "query_id", f"query {number}")): _text(one)
        for number, one in enumerate(_called(dataset, "queries_iter"), 1)
    }
    rows = [
        tuple(_part(one, name, f"judgment {number}") for name in ("query_id", "doc_id", "relevance"))
        for number, one in enumerate(_called(dataset, "qrels_iter"), 1)
    ]
    if not rows:
        raise ValueError("the collection has no judgments; load a part of it that has some")
    best: dict[tuple[str, str], float] = {}
    for query, document, label in rows:  # subtopics judge a document several times
        key = str(query), str(document)
        best[key] = max(float(label), best.get(key, float("-inf")))
    lost = next((query for query, _ in best if query not in texts), None)
    if lost is not None:
        raise ValueError(f"query {lost!r} is judged and has no text; load the part that has the queries")
    qrels = Qrels([query for query, _ in best], [document for _, document in best], list(best.values()))
    return Corpus(documents, {query: texts[query] for query in qrels}, qrels)


def _called(dataset: Any, name: str) -> Iterator[Any]:
    method = getattr(dataset, name, None)
    if not callable(method):
        raise ValueError(
            f"wanted a data set of ir_datasets with docs, queries and qrels, and this one has no {name}(); "
            "take one of its parts, such as 'beir/nfcorpus/test'"
        )
    return iter(method())


def _part(one: Any, name: str, what: str) -> Any:
    if not hasattr(one, name):
        raise ValueError(f"{what} has no {name}; it has {', '.join(getattr(one, '_fields', ())) or 'none'}")
    return getattr(one, name)


def _text(query: Any) -> str:
    for name in ("text", "title"):
        if isinstance(getattr(query, name, None), str):
            return str(getattr(query, name))
    if hasattr(query, "default_text"):
        return str(query.default_text())
    raise ValueError(
        f"query {query.query_id!r} has neither text nor title; it has {', '.join(query._fields)}"
    )
