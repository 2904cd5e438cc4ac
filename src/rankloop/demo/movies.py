"""Movie search with human labels (MSRD, CC BY-SA 4.0) as a collection."""

from math import log1p
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.data import Corpus, catalog
from rankloop.demo.collection import Collection
from rankloop.search import Analyser, Field, Index

__all__ = ["collect"]

SEARCHES = 1500  # judged searches that are used
_TEXTS = ("title", "overview", "tags", "director", "actors", "characters")
_NUMBERS = ("popularity", "year", "rating")
_FEATURES = (
    "query_length",
    *(f"{family}({field})" for field in _TEXTS for family in ("bm25", "covered_ratio", "covered_idf")),
    *("lm_dirichlet(title)", "length(title)", "phrase(title)", "ordered(title)", "boolean(title)"),
    *("bm25(letters)", "covered_ratio(letters)", "cosine(letters)"),
    *("bm25(*)", "covered_ratio(*)", "covered_idf(*)", "boolean(*)"),
    *(f"value({name})" for name in _NUMBERS),
)


def collect(path: Path, *, download: bool = False) -> Collection:
    """The collection, with an index at `path`; it is downloaded only if `download` says so."""
    if download:
        catalog.get("msrd-movies")
    corpus = catalog.load("msrd-movies")
    graded = _graded(corpus)
    chosen = np.random.default_rng(0).permutation(sorted(graded))[:SEARCHES].tolist()
    return Collection(
        name="movies",
        title="Search movies",
        index=_index(corpus, path),
        weights=dict.fromkeys(_TEXTS, 1.0) | {"title": 3.0},
        features=_FEATURES,
        prior="value(popularity)",
        searches={text: graded[text] for text in chosen},
        max_label=1,
        title_field="title",
    )


def _graded(corpus: Corpus) -> dict[str, dict[str, int]]:
    """Searches by their text, with the movies that people judged relevant."""
    graded: dict[str, dict[str, int]] = {}
    for qid, grades in corpus.qrels.to_dict().items():
        relevant = {str(id): 1 for id, grade in grades.items() if grade > 0}
        text = corpus.queries[str(qid)].strip()
        if relevant and text:
            graded.setdefault(text, {}).update(relevant)
    return graded


def _index(corpus: Corpus, path: Path) -> Index:
    fields: dict[str, Any] = {
        **dict.fromkeys(_TEXTS, "text"),
        "letters": Field("text", source="title", analyser=Analyser(grams=(3, 3))),
        "genres": "keyword",
        **dict.fromkeys(_NUMBERS, "number"),
    }
    index = Index.create(path, fields=fields)
    index.add(_entry(id, movie) for id, movie in corpus.documents.items())
    index.commit()
    return index


def _entry(id: str, movie: Any) -> dict[str, Any]:
    kept = {name: movie.get(name) for name in (*_TEXTS, "genres", "year", "rating")}
    entry = {"id": id, **kept, "popularity": log1p(movie.get("votes") or 0)}
    return {name: value for name, value in entry.items() if value is not None}
