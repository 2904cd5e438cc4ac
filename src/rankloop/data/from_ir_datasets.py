"""Collections of ir_datasets, by the methods of its objects."""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from rankloop.data.corpus import Corpus, judged_corpus
from rankloop.data.files.records import Faults
from rankloop.data.qrels import Qrels

__all__ = ["from_ir_datasets"]


def from_ir_datasets(
    dataset: Any, *, on_error: str = "raise", skipped: "Counter[str] | None" = None
) -> Corpus:
    """Documents, judged queries and judgments of `ir_datasets.load(...)`, or of any object with its methods.

    `docs_iter()`, `queries_iter()` and `qrels_iter()` are called; rankloop does not need the package. A
    document keeps its fields but the id. The text of a query is its `text`, else its `title` (TREC topics),
    else what `default_text()` says. A record that lacks something is an error that names it, or with
    `on_error="skip"` is counted.

    >>> from types import SimpleNamespace
    >>> from collections import namedtuple
    >>> Doc, Query = namedtuple("Doc", "doc_id text"), namedtuple("Query", "query_id text")
    >>> Qrel = namedtuple("Qrel", "query_id doc_id relevance")
    >>> small = SimpleNamespace(docs_iter=lambda: [Doc("d1", "red shoes")],
    ...     queries_iter=lambda: [Query("q1", "shoes")], qrels_iter=lambda: [Qrel("q1", "d1", 2)])
    >>> from_ir_datasets(small)
    Corpus(1 documents, 1 queries, 1 judgments)
    """
    documents: dict[str, Mapping[str, Any]] = {}
    texts: dict[str, str] = {}
    best: dict[tuple[str, str], float] = {}
    with Faults("docs_iter()", on_error, skipped).summed_up() as faults:
        for _, fields, _ in _records(dataset, "docs_iter", ("doc_id",), faults):
            documents[str(fields.pop("doc_id"))] = fields
    with Faults("queries_iter()", on_error, skipped).summed_up() as faults:
        for number, fields, one in _records(dataset, "queries_iter", ("query_id",), faults):
            text = _text(fields, one)
            if text is None:
                faults(number, "text", f"wanted text or title, got {', '.join(fields)}", "drop the query")
            else:
                texts[str(fields["query_id"])] = text
    with Faults("qrels_iter()", on_error, skipped).summed_up() as faults:
        for number, fields, _ in _records(dataset, "qrels_iter", ("query_id", "doc_id", "relevance"), faults):
            label = fields["relevance"]
            if not isinstance(label, int | float) or not isfinite(label):
                faults(number, "relevance", f"wanted a number, got {label!r}", "drop the judgment")
                continue
            key = str(fields["query_id"]), str(fields["doc_id"])
            best[key] = max(float(label), best.get(key, float(label)))  # subtopics judge a document again
        if not best:
            raise ValueError("the collection has no judgments; load a part of it that has some")
        qrels = Qrels([query for query, _ in best], [document for _, document in best], list(best.values()))
        return judged_corpus(documents, texts, qrels, faults)


def _records(
    dataset: Any, method: str, wanted: tuple[str, ...], faults: Faults
) -> Iterator[tuple[int, dict[str, Any], Any]]:
    """The records that a method gives: number, fields, the record. One that lacks a field is a fault."""
    call = getattr(dataset, method, None)
    if not callable(call):
        raise ValueError(
            f"wanted a data set of ir_datasets with docs, queries and qrels, and this one has no {method}(); "
            "take one of its parts, such as 'beir/nfcorpus/test'"
        )
    for number, one in enumerate(call(), 1):
        fields = dict(one._asdict() if hasattr(one, "_asdict") else getattr(one, "__dict__", {}))
        lacking = next((name for name in wanted if fields.get(name) in (None, "")), None)
        if lacking is None:
            yield number, fields, one
        else:
            got = ", ".join(fields) or repr(one)[:40]
            faults(number, lacking, f"every record has one, got {got}", "correct or drop the record")


def _text(fields: Mapping[str, Any], query: Any) -> str | None:
    text = next((fields[name] for name in ("text", "title") if isinstance(fields.get(name), str)), None)
    return str(query.default_text()) if text is None and hasattr(query, "default_text") else text
