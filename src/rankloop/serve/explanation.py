"""Why a document is where it is: shares of features and of query words in its score."""

from dataclasses import replace

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers import contributions, why
from rankloop.search import Candidates, Pipeline, Query, Retriever
from rankloop.serve.answer import run_stages
from rankloop.serve.http.schema import Explanation, FeatureShare, WordShare
from rankloop.serve.json_value import json_value

__all__ = ["explain"]

QUERY_ID = "query"


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
    compared = None
    if against is not None:
        difference = why(search.ranker, lists, QUERY_ID, document, against)
        compared = json_value({**difference.to_dict(), "query": query.text})
    return Explanation(
        query=query.text,
        understood=found.query.understood,
        document=document,
        ranker=version,
        rank=at + 1 if at < len(found) else None,
        score=float(ranked.scores[at]),
        base=float(parts.base[0]),
        exact=parts.exact,
        features=[
            FeatureShare(
                name=values[i].name,
                value=json_value(values[i].value),
                share=float(shares[i]),
                meaning=values[i].meaning,
            )
            for i in np.argsort(-np.abs(shares), kind="stable").tolist()
        ],
        words=_words(search, query, document),
        against=compared,
    )


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
