"""Why a document is where it is, in the words of the features and of the query."""

from typing import Any

import numpy as np

from rankloop.data import RankingDataset
from rankloop.rankers import contributions, why
from rankloop.search import Candidates, Pipeline, Query, Retriever
from rankloop.search.ranked import Ranked
from rankloop.serve.answer import answered, plain
from rankloop.serve.http.schema import Explanation, FeatureShare, WordShare

__all__ = ["explained"]

QUERY_ID = "query"


def explained(
    search: Pipeline, version: str, query: Query, document: str, against: str | None = None
) -> Explanation:
    """The shares of features and words in the score of a document, and what puts it above another."""
    found = answered(search, query).found
    ranked = _with(search, found, [document] if against is None else [document, against])
    ids = [str(id) for id in ranked.ids.tolist()]
    at = ids.index(document)
    ranker = next(stage.ranker for stage in search.stages if isinstance(stage, Ranked))
    names = search.features.names
    lists = RankingDataset(
        ranked.columns["features"],
        np.zeros(len(ids)),
        np.full(len(ids), QUERY_ID),
        docid=ids,
        feature_names=names,
    )
    parts = contributions(ranker, lists, rows=[at])
    shares = parts.values[0]
    told = search.features.explain(ranked, document)
    compared = None
    if against is not None:
        compared = plain({**why(ranker, lists, QUERY_ID, document, against).to_dict(), "query": query.text})
    return Explanation(
        query=query.text,
        document=document,
        ranker=version,
        rank=at + 1 if at < len(found) else None,
        score=float(ranked.scores[at]),
        base=float(parts.base[0]),
        exact=parts.exact,
        features=[
            FeatureShare(
                name=told[i].name,
                value=plain(told[i].value),
                share=float(shares[i]),
                meaning=told[i].meaning,
            )
            for i in np.argsort(-np.abs(shares), kind="stable").tolist()
        ],
        words=_words(search, query, document),
        against=compared,
    )


def _with(search: Pipeline, found: Candidates, ids: list[str]) -> Candidates:
    """The candidates, and documents that were not among them at the end."""
    known = {str(id) for id in found.ids.tolist()}
    missing = [id for id in dict.fromkeys(ids) if id not in known]
    for id in missing:
        if found.snapshot.row(id) < 0:
            raise LookupError(f"no document {id!r} in the index")
    if not missing:
        return found
    added = search.rescore(found.query, missing)
    return Candidates(
        query=found.query,
        snapshot=found.snapshot,
        rows=np.concatenate([found.rows, added.rows]),
        scores=np.concatenate([found.scores, added.scores]),
        columns={"features": np.concatenate([_features(search, found), added.columns["features"]])},
        leaves=found.leaves,
    )


def _features(search: Pipeline, found: Candidates) -> Any:
    return found.columns["features"] if len(found) else np.empty((0, len(search.features)), np.float32)


def _words(search: Pipeline, query: Query, document: str) -> list[WordShare]:
    source = search.stages[0]
    if not isinstance(source, Retriever):
        return []
    return [
        WordShare(
            term=part.term,
            field=part.field,
            score=part.score,
            tf=part.tf,
            df=part.df,
            length=part.length,
            average_length=part.average_length,
        )
        for part in sorted(source.explain(query, document), key=lambda part: -part.score)
    ]
