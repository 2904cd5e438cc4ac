"""The families of features: their meaning, their arguments, and those that are not text statistics."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankloop._arrays import Floats
from rankloop.search.candidates import Candidates
from rankloop.search.features.click_history import ClickHistory
from rankloop.search.features.query_terms import QueryTerms

__all__ = ["CLICKS", "MEANING", "NEEDS", "QUERY", "broadcast", "clicked", "versions"]

_DAY = 86_400.0
_SMOOTHING = 10.0  # impressions without a click that every click rate starts from

_SPREAD = {"sum": "sum", "min": "smallest", "max": "largest", "mean": "mean", "variance": "variance"}

# The meaning of each family; {} is the field.
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
    "window": "words of the shortest window of {} with every query term it has",
    "ordered": "pairs of neighbouring query words that are neighbours in {} in the same order",
    "unordered": "pairs of neighbouring query words within 8 words of each other in {}",
    "phrase": "1 if {} contains the query as a phrase",
    "first": "position of the first query term in {} (its length if there is none)",
    "query_length": "terms of the query",
    **{f"query_idf_{n}": f"{w} of the idf of the query terms in {{}}" for n, w in _SPREAD.items()},
    "clarity": "how far the query is from the language of {} (simplified clarity)",
    "value": "the field {} of the document",
    "age": "days from the document's {} to the time of the query",
    "similarity": "similarity of the query's and the document's vector {}",
    "user": "a number about the user: {}",
    "impressions": "how often the document was shown before the query",
    "clicks": "how often the document was clicked before the query",
    "click_rate": "clicks / (impressions + 10) of the document before the query",
    "query_impressions": "how often the document was shown for this query so far",
    "query_clicks": "how often the document was clicked for this query so far",
    "query_click_rate": "clicks / (impressions + 10) of the document for this query so far",
}
QUERY = (*(f"query_idf_{name}" for name in _SPREAD), "clarity")
CLICKS = (
    "impressions", "clicks", "click_rate", "query_impressions", "query_clicks", "query_click_rate",
)  # fmt: skip

# Kinds of fields a family takes as its argument; None: no argument; (): any name, not a field.
NEEDS: dict[str, tuple[str, ...] | None] = {
    **dict.fromkeys(MEANING, ("text",)),
    **dict.fromkeys(("query_length", *CLICKS), None),
    "value": ("number", "date"),
    "age": ("date",),
    "similarity": ("vector",),
    "user": (),
}

# Raise a family's number when its arithmetic changes, so that models trained before are refused.
_VERSION = dict.fromkeys(MEANING, 1)


def versions(family: str | None, declared: Any) -> int:
    """The version of a family, or of a function."""
    return int(getattr(declared, "version", 0)) if family is None else _VERSION[family]


def broadcast(
    family: str, field: str | None, found: Candidates, words: Mapping[str, QueryTerms]
) -> float | Floats:
    """Features that are the same for all documents of a query, and ages."""
    if family == "query_length":
        return float(len(found.snapshot.manifest.analyser.terms(found.query.plain)))
    if family == "user":
        return float(found.query.user.get(str(field), np.nan))
    if family == "age":
        return (_time_of(found, "age") - found.numbers(str(field))) / _DAY
    terms = words[str(field)]
    if not len(terms.terms):
        return 0.0
    if family == "clarity":
        share = terms.times / terms.times.sum()
        return float((share * np.log(share / terms.probability)).sum())
    kind = family.removeprefix("query_idf_")
    return float(getattr(terms.idf, "var" if kind == "variance" else kind)())


def clicked(family: str, found: Candidates, history: ClickHistory | None) -> ArrayLike:
    """Counts of impressions and clicks before the time of the query."""
    assert history is not None  # Features refuses click features without one
    before = _time_of(found, family)
    ids = found.ids.tolist()
    of_query = family.startswith("query_")
    if of_query:
        shown, clicks = history.of_pairs(found.query.text, ids, before=before)
    else:
        shown, clicks = history.of_documents(ids, before=before)
    kind = family.removeprefix("query_")
    return {"impressions": shown, "clicks": clicks, "click_rate": clicks / (shown + _SMOOTHING)}[kind]


def _time_of(found: Candidates, family: str) -> float:
    if found.query.at is None:
        raise ValueError(
            f"{family} needs the time of the query: give it, as in replace(query, at=time.time())"
        )
    return found.query.at
