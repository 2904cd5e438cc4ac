"""The families of features: what each means, what it needs, and those that are no text statistics."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankloop.search.candidates import Candidates
from rankloop.search.features.click_history import ClickHistory
from rankloop.search.features.query_terms import Asked

__all__ = ["CLICKS", "MEANING", "NEEDS", "QUERY", "broadcast", "clicked", "versions"]

_DAY = 86_400.0
_SMOOTHING = 10.0  # impressions without a click that every click rate starts from

_SPREAD = {"sum": "sum", "min": "smallest", "max": "largest", "mean": "mean", "variance": "variance"}

# What a family means, with a place for the field.
MEANING = {
    "covered": "how many query terms are in {}",
    "covered_ratio": "share of the query terms that are in {}",
    "covered_idf": "share of the rarity (idf) of the query that is in {}",
    "length": "words of {}",
    "boolean": "1 if all query terms are in {}",
    "cosine": "cosine of the query (tf-idf) and {} (1 + log tf), lnc.ltc",
    "bm25": "BM25 over {} (k1 = 1.2, b = 0.75)",
    "lm_absolute": "log likelihood of the query under {}, absolute discounting by 0.7",
    "lm_dirichlet": "log likelihood of the query under {}, Dirichlet prior of one average length",
    "lm_jelinek": "log likelihood of the query under {}, Jelinek-Mercer with 0.1 of the collection",
    **{f"tf_{name}": f"{word} over query terms of their tf in {{}}" for name, word in _SPREAD.items()},
    **{f"tf_length_{n}": f"{w} over query terms of tf by the length of {{}}" for n, w in _SPREAD.items()},
    **{f"tfidf_{name}": f"{word} over query terms of tf * idf in {{}}" for name, word in _SPREAD.items()},
    "window": "words of the shortest stretch of {} with every query term it has",
    "ordered": "neighbours of the query that stand in {} just so",
    "unordered": "neighbours of the query within 8 words of each other in {}",
    "phrase": "1 if the query stands in {} word by word",
    "first": "where in {} the first query term stands (its length if none does)",
    "query_length": "terms of the query",
    **{f"query_idf_{n}": f"{w} of the idf of the query terms in {{}}" for n, w in _SPREAD.items()},
    "clarity": "how far the query is from the language of {} (simplified clarity)",
    "value": "the document's {}",
    "age": "days from the document's {} to the moment of the query",
    "similarity": "similarity of the query's and the document's vector {}",
    "user": "what is known of the user: {}",
    "impressions": "how often the document was shown before",
    "clicks": "how often the document was clicked before",
    "click_rate": "clicks / (impressions + 10) of the document before",
    "query_impressions": "how often the document was shown for this query before",
    "query_clicks": "how often the document was clicked for this query before",
    "query_click_rate": "clicks / (impressions + 10) of the document for this query before",
}
QUERY = (*(f"query_idf_{name}" for name in _SPREAD), "clarity")
CLICKS = (
    "impressions", "clicks", "click_rate", "query_impressions", "query_clicks", "query_click_rate",
)  # fmt: skip

# Kinds of fields a family takes as its argument; None: no argument; (): a name that is no field.
NEEDS: dict[str, tuple[str, ...] | None] = {
    **dict.fromkeys(MEANING, ("text",)),
    **dict.fromkeys(("query_length", *CLICKS), None),
    "value": ("number", "date"),
    "age": ("date",),
    "similarity": ("vector",),
    "user": (),
}

# Raise a family's number when its arithmetic changes: models trained before must not meet other numbers.
_VERSION = dict.fromkeys(MEANING, 1)


def versions(family: str | None, declared: Any) -> int:
    """The version of a family, or of a function."""
    return int(getattr(declared, "version", 0)) if family is None else _VERSION[family]


def broadcast(
    family: str, field: str | None, found: Candidates, words: Mapping[str, Asked]
) -> float | NDArray[np.float64]:
    """What is the same for all documents of a query, and ages."""
    if family == "query_length":
        return float(len(found.snapshot.manifest.analyser.terms(found.query.plain)))
    if family == "user":
        return float(found.query.user.get(str(field), np.nan))
    if family == "age":
        return (_moment(found, "age") - found.numbers(str(field))) / _DAY
    asked = words[str(field)]
    if not len(asked.terms):
        return 0.0
    if family == "clarity":
        share = asked.times / asked.times.sum()
        return float((share * np.log(share / asked.chance)).sum())
    kind = family.removeprefix("query_idf_")
    return float(getattr(asked.idf, "var" if kind == "variance" else kind)())


def clicked(family: str, found: Candidates, history: ClickHistory | None) -> ArrayLike:
    """Counts of clicks from before the query was asked."""
    assert history is not None  # Features refuses click features without one
    before = _moment(found, family)
    ids = found.ids.tolist()
    of_query = family.startswith("query_")
    if of_query:
        shown, clicks = history.of_pairs(found.query.text, ids, before=before)
    else:
        shown, clicks = history.of_documents(ids, before=before)
    kind = family.removeprefix("query_")
    return {"impressions": shown, "clicks": clicks, "click_rate": clicks / (shown + _SMOOTHING)}[kind]


def _moment(found: Candidates, family: str) -> float:
    if found.query.at is None:
        raise ValueError(
            f"{family} looks back from the moment of the query: give it, as in replace(query, at=time.time())"
        )
    return found.query.at
