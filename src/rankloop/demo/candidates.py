"""What the first stage finds for the searches, described with features and labelled with the grades."""

from collections.abc import Mapping

import numpy as np

from rankloop.data import RankingDataset
from rankloop.search import BM25, Analyser, Index, Query

__all__ = ["FEATURES", "describe_candidates"]

_VIEWS: dict[str, Mapping[str, float]] = {
    "bm25": {"name": 3.0, "summary": 2.0, "body": 1.0},
    "bm25_name": {"name": 1.0},
    "bm25_summary": {"summary": 1.0},
    "bm25_body": {"body": 1.0},
    "bm25_letters": {"letters": 1.0},
}
_WORDS = Analyser()
_PLAIN = ("popularity", "dots", "name_length", "body_length", "is_module", "is_class", "is_method")
FEATURES = (*_VIEWS, "name_covered", "summary_covered", "last_named", *_PLAIN)


def describe_candidates(
    index: Index, searches: Mapping[str, Mapping[str, int]], *, k: int = 100
) -> RankingDataset:
    """The best `k` documents of each search by BM25, with features; what nobody graded counts as 0."""
    retriever = index.retriever(k=k, model=BM25(fields=_VIEWS["bm25"]), typos="missing")
    views = {
        name: index.retriever(model=BM25(fields=fields), typos="missing") for name, fields in _VIEWS.items()
    }
    rows, labels, queries, documents = [], [], [], []
    for words, grades in searches.items():
        query = Query.of_words(words)
        ids = retriever(query).ids.tolist()
        scores = {name: view.score(query, ids) for name, view in views.items()}
        terms = set(_WORDS.terms(words))
        for at, name in enumerate(ids):
            rows.append([*(scores[view][at] for view in _VIEWS), *_described(index, name, terms)])
            labels.append(grades.get(name, 0))
            queries.append(words)
            documents.append(name)
    X = np.nan_to_num(np.array(rows, np.float32))
    return RankingDataset(X, labels, queries, docid=documents, feature_names=FEATURES)


def _described(index: Index, name: str, terms: set[str]) -> list[float]:
    document = index[name]
    named = set(_WORDS.terms(document["name"]))
    summary = set(_WORDS.terms(document["summary"]))
    last = set(_WORDS.terms(document["last"]))
    return [
        len(terms & named) / max(len(terms), 1),
        len(terms & summary) / max(len(terms), 1),
        float(bool(last & terms)),
        document["popularity"],
        name.count("."),
        len(document["last"]),
        np.log1p(len(document["body"])),
        float(document["kind"] == "module"),
        float(document["kind"] == "class"),
        float(document["kind"] == "method"),
    ]
