"""The lists that a ranker learns from, made of judged queries by the stages that serve."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rankloop._names import one_of
from rankloop._progress import progress
from rankloop.data import RankingDataset
from rankloop.search.candidates import Candidates
from rankloop.search.features.features import Features
from rankloop.search.retriever import Retriever
from rankloop.search.stage import StageLike
from rankloop.search.text.query import Query

__all__ = ["AMONG", "Judgments", "Queries", "grades_of", "judged_lists", "judged_queries", "tuned"]

AMONG = ("judged", "retrieved", "both")

Queries = Mapping[Any, str | Query]
Judgments = Mapping[Any, Mapping[Any, float]]  # a Qrels is one


def judged_lists(
    retrieve: StageLike, features: Features | None, queries: Queries, judgments: Judgments, among: str
) -> RankingDataset:
    """Features and labels of the documents of each query that has both; without features, no columns.

    `among` says which documents: those that are "judged", those that are "retrieved" (label 0 without a
    judgment), or "both". Beware of "both" where judgments are few: a document that was not retrieved is
    then there only because it is relevant, and a ranker learns that weak matches are good.
    """
    one_of("among", among, AMONG)
    grades = grades_of(judgments)
    judged = judged_queries(queries, grades)
    matrices, labels, qids, docids, texts = [], [], [], [], {}
    with progress("features", len(judged)) as advance:
        for qid, query in judged.items():
            found = _documents(retrieve, query, grades[qid], among)
            if len(found):
                ids = [str(id) for id in found.ids.tolist()]
                none = np.zeros((len(found), 0), np.float32)
                matrices.append(none if features is None else features.matrix(found))
                texts[qid] = found.query.plain
                labels += [max(grades[qid].get(id, 0.0), 0.0) for id in ids]
                qids += [qid] * len(ids)
                docids += ids
            advance(1, f"{len(labels):,} documents")
    if not matrices:
        raise ValueError("no judged document is in the index; are the document ids the same?")
    names = None if features is None else features.names
    X = np.concatenate(matrices)
    return RankingDataset(X, labels, qids, docid=docids, query_text=texts, feature_names=names)


def judged_queries(queries: Queries, grades: Mapping[str, Any]) -> dict[str, str | Query]:
    """The queries that have judgments, with ids as text; an error if none has."""
    judged = {str(qid): query for qid, query in queries.items() if str(qid) in grades}
    if not judged:
        raise ValueError(
            f"none of the {len(queries)} queries has judgments ({len(grades)} queries are judged); "
            "are the query ids the same?"
        )
    return judged


def tuned(retrieve: StageLike, queries: Queries, judgments: Judgments) -> StageLike:
    """A retriever of several sources without weights gets those that rank judged queries best."""
    if not isinstance(retrieve, Retriever) or retrieve.weights is not None or retrieve.sources < 2:
        return retrieve
    by_id, grades = {str(qid): query for qid, query in queries.items()}, grades_of(judgments)
    _, labels = retrieve.judged_pools(by_id, grades)
    if not any(grade > 0 for one in labels for grade in one):
        return retrieve  # no judgment says which source is better
    return retrieve.tune(by_id, grades)


def grades_of(judgments: Judgments) -> dict[str, dict[str, float]]:
    """Judgments as query -> document -> grade, with ids as text."""
    return {
        str(qid): {str(id): float(grade) for id, grade in of_query.items()}
        for qid, of_query in judgments.items()
    }


def _documents(retrieve: StageLike, query: str | Query, judged: Iterable[str], among: str) -> Candidates:
    if among == "retrieved":
        return retrieve(query)
    if not isinstance(retrieve, Retriever):
        raise ValueError(
            f"a pipeline that starts with {type(retrieve).__name__} cannot look up judged documents; "
            "start it with index.retriever(), or fit with among='retrieved'"
        )
    if among == "judged":
        return retrieve.looked_up(query, judged)
    shown = [str(id) for id in retrieve(query).ids.tolist()]
    return retrieve.looked_up(query, dict.fromkeys([*shown, *judged]))
