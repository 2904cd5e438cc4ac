"""Why a document is where it is: shares of features and of query words in its score."""

from dataclasses import replace
from typing import Any

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers import contributions, why
from rankloop.search import Candidates, Pipeline, Query, Retriever
from rankloop.serve.answer import run_stages
from rankloop.serve.http.schema import Explanation, FeatureShare, WordShare
from rankloop.serve.json_value import json_value

__all__ = ["explain"]

QUERY_ID = "query"
CLICKS = "clicks on this query"
MEANING = "what people clicked for this very query, beyond what the features say"


def explain(
    search: Pipeline, version: str, query: Query, document: str, against: str | None = None
) -> Explanation:
    """The shares of features and words in the score of a document, and what puts it above another."""
    found = run_stages(search, query).found
    ranked = _with(search, found, [document] if against is None else [document, against])
    ids = [str(id) for id in ranked.ids.tolist()]
    at = ids.index(document)
    names = search.features.names
    lists = RankingDataset(
        ranked.columns["features"],
        np.zeros(len(ids)),
        np.full(len(ids), QUERY_ID),
        docid=ids,
        feature_names=names,
    )
    if query.deadline is not None:
        query.deadline.check()
    parts = contributions(search.ranker, lists, rows=[at])
    shares = parts.values[0]
    values = search.features.explain(ranked, document)
    shifts = dict.fromkeys(ids, 0.0)
    if search.remembered is not None:
        shifts = dict(zip(ids, search.remembered.shift(found.query.text, ids).tolist(), strict=True))
    compared = None
    if against is not None:
        difference = why(search.ranker, lists, QUERY_ID, document, against).to_dict()
        compared = json_value({**_with_clicks(difference, shifts), "query": query.text})
    features = [
        FeatureShare(
            name=values[i].name,
            value=json_value(values[i].value),
            share=float(shares[i]),
            meaning=values[i].meaning,
        )
        for i in range(len(shares))
    ]
    if shifts[document]:
        features.append(FeatureShare(name=CLICKS, value=None, share=shifts[document], meaning=MEANING))
    return Explanation(
        query=query.text,
        understood=found.query.understood,
        document=document,
        ranker=version,
        rank=at + 1 if at < len(found) else None,
        score=float(ranked.scores[at]),
        base=float(parts.base[0]),
        exact=parts.exact,
        features=sorted(features, key=lambda one: -abs(one.share)),
        words=_words(search, query, document),
        against=compared,
    )


def _with_clicks(difference: dict[str, Any], shifts: dict[str, float]) -> dict[str, Any]:
    """The difference of two documents with what is remembered of clicks, which may turn it round."""
    upper, lower = difference["above"], difference["below"]
    gap = shifts[upper["document"]] - shifts[lower["document"]]
    if not gap:
        return difference
    for side in (upper, lower):
        side["score"] += shifts[side["document"]]
    rows = [*difference["features"], {"feature": CLICKS, "share": gap, "above": None, "below": None}]
    if upper["score"] < lower["score"]:
        rows = [{**one, "share": -one["share"], "above": one["below"], "below": one["above"]} for one in rows]
        upper, lower = lower, upper
    rows.sort(key=lambda one: -abs(one["share"]))
    return {**difference, "above": upper, "below": lower, "features": rows, "changes": []}


def _with(search: Pipeline, found: Candidates, ids: list[str]) -> Candidates:
    """The candidates, followed by the documents `ids` that are not among them."""
    known = [str(id) for id in found.ids.tolist()]
    missing = [id for id in dict.fromkeys(ids) if id not in set(known)]
    if not missing:
        return found
    every = [*known, *missing]
    scored = search.rescore(found.query, every)
    place = {str(id): at for at, id in enumerate(scored.ids.tolist())}
    for id in missing:
        if id not in place:
            raise LookupError(f"no document {id!r} in the index")
    return replace(scored.take([place[id] for id in every if id in place]), leaves=found.leaves)


def _words(search: Pipeline, query: Query, document: str) -> list[WordShare]:
    source = search.stages[0]
    if not isinstance(source, Retriever):
        return []
    return [
        WordShare.model_validate(part, from_attributes=True)
        for part in sorted(source.explain(query, document), key=lambda part: -part.score)
    ]
