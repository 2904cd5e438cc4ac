"""The features of a weighted sum of words and meaning."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from rankloop.search.features.features import Features

if TYPE_CHECKING:
    from rankloop.search.searchable import Searchable

__all__ = ["hybrid_features"]


def hybrid_features(
    index: "Searchable", *, encoders: Mapping[str, Callable[[str], ArrayLike]] | None = None
) -> Features:
    """BM25 of every text field, and the similarity of every vector field that has an encoder.

    A linear ranker over them learns one weight for each from judged queries. `vectors={}` lets words alone
    find the candidates, which meaning then helps to order:
    `index.retriever(vectors={}) >> hybrid_features(index) >> LinearRanker(loss="lambdarank")`.
    Encoders given here are added to those of the index.

    >>> import tempfile
    >>> from rankloop.search import Index
    >>> fields = {"title": "text", "body": "text", "meaning": "vector:2"}
    >>> index = Index.create(tempfile.mkdtemp() + "/films.index", fields=fields)
    >>> hybrid_features(index, encoders={"meaning": lambda text: [1.0, len(text)]}).names
    ('bm25(title)', 'bm25(body)', 'similarity(meaning)')
    """
    known = {**getattr(index, "encoders", {}), **(encoders or {})}
    fields = index.snapshot.fields
    vectors = [name for name, field in fields.items() if field.kind == "vector" and name in known]
    if not vectors:
        raise ValueError(
            "no vector field has an encoder, so there is no similarity to weight; "
            "give encoders={field: encoder}, or make the index with encoder=..."
        )
    names = [
        *(f"bm25({name})" for name in index.snapshot.text_fields),
        *map("similarity({})".format, vectors),
    ]
    return Features(names, encoders={name: known[name] for name in vectors})
