"""Rows of text as sentence-transformers and the data sets of Hugging Face have them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from rankloop._names import one_of
from rankloop.data.corpus import Corpus
from rankloop.data.files.records import Faults
from rankloop.data.qrels import Qrels

__all__ = ["from_sentence_transformers", "to_sentence_transformers"]

FORMS = ("labelled", "lists", "pairs", "reranking", "triples")
_WANTED = (
    "wanted the columns query and docs and labels; query (or anchor) and positive, with negative or "
    "negative_1, negative_2, ...; sentence1, sentence2 and score (or label); or query and passages"
)
Labelled = list[tuple[str, float]]


def from_sentence_transformers(
    rows: Iterable[Mapping[str, Any]], *, on_error: str = "raise", skipped: "Counter[str] | None" = None
) -> Corpus:
    """Rows of any data set that sentence-transformers trains a re-ranker on, as a collection.

    Lists (`query, docs, labels`), pairs (`anchor, positive`), triples and tuples (`negative`, `negative_1`
    ...), labelled pairs (`sentence1, sentence2, score`), re-ranking samples (`query, positive, negative`,
    lists of texts) and MS MARCO's rows (`query, passages`). Equal texts are one query or one document; they
    are named q1, q2, ... and d1, d2, .... A positive has label 1, a negative 0. Of several labels of a
    document for a query the highest counts. A row that is wrong is an error that names it, or with
    `on_error="skip"` is counted.

    >>> small = from_sentence_transformers([{"anchor": "shoes", "positive": "red shoes", "negative": "hat"}])
    >>> small.queries, small.documents, small.qrels.to_dict()
    ({'q1': 'shoes'}, {'d1': {'text': 'red shoes'}, 'd2': {'text': 'hat'}}, {'q1': {'d1': 1.0, 'd2': 0.0}})
    """
    queries: dict[str, str] = {}
    documents: dict[str, str] = {}
    labels: dict[tuple[str, str], float] = {}
    with Faults("the rows", on_error, skipped).summed_up() as faults:
        for number, row in enumerate(rows, 1):
            try:
                text, judged = _judged(row)
            except _Wrong as wrong:
                faults(number, *wrong.args)
                continue
            query = queries.setdefault(text, f"q{len(queries) + 1}")
            for document, label in judged:
                name = documents.setdefault(document, f"d{len(documents) + 1}")
                labels[query, name] = max(label, labels.get((query, name), label))
    if not labels:
        raise ValueError(f"there is no row with documents; {_WANTED}")
    qrels = Qrels([query for query, _ in labels], [name for _, name in labels], list(labels.values()))
    texts = {name: text for text, name in queries.items()}
    return Corpus(
        {name: {"text": text} for text, name in documents.items()}, {q: texts[q] for q in qrels}, qrels
    )


def to_sentence_transformers(
    corpus: Corpus, form: str = "lists", *, text: str = "text", relevance_threshold: float = 1.0
) -> Iterator[dict[str, Any]]:
    """The judged documents of a collection as rows, for `datasets.Dataset.from_list(list(...))`.

    `form` is "lists" (query, docs, labels), "triples" (anchor, positive, negative: every pair of the two
    kinds), "pairs" (anchor, positive), "labelled" (sentence1, sentence2, score) or "reranking" (query and
    lists of positives and negatives). Positive is a label from `relevance_threshold` on. `text` is the field
    of the documents that is read.

    >>> small = Corpus({"d1": {"text": "red shoes"}}, {"q1": "shoes"}, Qrels(["q1"], ["d1"], [2]))
    >>> list(to_sentence_transformers(small))
    [{'query': 'shoes', 'docs': ['red shoes'], 'labels': [2.0]}]
    """
    one_of("form", form, FORMS)
    return _rows(corpus, form, text, relevance_threshold)


def _rows(corpus: Corpus, form: str, field: str, threshold: float) -> Iterator[dict[str, Any]]:
    for query, labels in corpus.qrels.to_dict().items():
        asked = corpus.queries[query]
        judged = [(corpus.text(name, field), label) for name, label in labels.items()]
        good = [text for text, label in judged if label >= threshold]
        bad = [text for text, label in judged if label < threshold]
        if form == "lists":
            yield {
                "query": asked,
                "docs": [text for text, _ in judged],
                "labels": [label for _, label in judged],
            }
        elif form == "reranking":
            if good:
                yield {"query": asked, "positive": good, "negative": bad}
        elif form == "labelled":
            yield from ({"sentence1": asked, "sentence2": text, "score": label} for text, label in judged)
        elif form == "pairs":
            yield from ({"anchor": asked, "positive": text} for text in good)
        else:
            yield from ({"anchor": asked, "positive": a, "negative": b} for a in good for b in bad)


class _Wrong(ValueError):  # noqa: N818 - what the row is
    """A row that cannot be used: column, problem, and what to do."""


def _judged(row: Mapping[str, Any]) -> tuple[str, Labelled]:
    """The query of a row, and its documents with their labels."""
    if not isinstance(row, Mapping):
        raise _Wrong("row", f"{_WANTED}, got {str(row)[:40]!r}", "give rows as dictionaries")
    if {"sentence1", "sentence2"} <= set(row):
        return _one(row, "sentence1"), [
            (_one(row, "sentence2"), _label(row.get("score", row.get("label")), "score"))
        ]
    column = "query" if "query" in row else "anchor"
    if column not in row:
        raise _unknown(row)
    query = _one(row, column)
    if "docs" in row and "labels" in row:
        return query, _listed(row["docs"], row["labels"], "labels")
    if isinstance(row.get("passages"), Mapping):
        passages = row["passages"]
        return query, _listed(passages.get("passage_text"), passages.get("is_selected"), "passages")
    if "positive" not in row:
        raise _unknown(row)
    judged = [(text, 1.0) for text in _many(row, "positive")]
    for name in row:
        if name == "documents" or re.fullmatch(r"negative(_\d+)?", str(name)):
            judged += [(text, 0.0) for text in _many(row, name)]
    return query, judged


def _unknown(row: Mapping[str, Any]) -> _Wrong:
    return _Wrong("columns", f"{_WANTED}, got {', '.join(map(str, row))}", "rename them")


def _one(row: Mapping[str, Any], column: str) -> str:
    if not isinstance(row[column], str) or not row[column]:
        raise _Wrong(column, f"wanted a text, got {row[column]!r}", "drop the row")
    return str(row[column])


def _many(row: Mapping[str, Any], column: str) -> list[str]:
    found = row[column] if isinstance(row[column], list | tuple) else [row[column]]
    for text in found:
        if not isinstance(text, str) or not text:
            raise _Wrong(column, f"wanted texts, got {text!r}", "drop the row")
    return list(found)


def _listed(texts: Any, labels: Any, column: str) -> Labelled:
    if (
        not isinstance(texts, list | tuple)
        or not isinstance(labels, list | tuple)
        or len(texts) != len(labels)
    ):
        problem = f"wanted as many labels as documents, got {labels!r} for {texts!r}"
        raise _Wrong(column, problem, "correct or drop the row")
    return [
        (_one({"docs": text}, "docs"), _label(label, column))
        for text, label in zip(texts, labels, strict=True)
    ]


def _label(given: Any, column: str) -> float:
    try:
        label = float(given)
    except (TypeError, ValueError):
        label = float("nan")
    if not isfinite(label):
        raise _Wrong(column, f"a label must be a number, got {given!r}", "drop the row")
    return label
