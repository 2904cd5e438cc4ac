"""Candidates of somebody else's engine, in the order of our ranker."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankloop._names import unknown
from rankloop.rankers.base.feature_names import feature_names
from rankloop.rankers.base.ranker import Ranker
from rankloop.search import Pipeline, Query
from rankloop.serve.http.schema import RankCandidate

__all__ = ["Order", "by_own_features", "by_the_index", "own_ranker"]


@dataclass(frozen=True, eq=False)
class Order:
    """Documents best first, with what their scores were made of."""

    ids: tuple[str, ...]
    scores: NDArray[np.float64]
    features: NDArray[np.float32]
    names: tuple[str, ...]


def by_own_features(ranker: Ranker, candidates: Sequence[RankCandidate]) -> Order:
    """By features that come with the candidates; one that does not come is unknown, not zero."""
    names = tuple(feature_names(ranker))
    place = {name: at for at, name in enumerate(names)}
    X = np.full((len(candidates), len(names)), np.nan, np.float32)
    for row, candidate in enumerate(candidates):
        if candidate.features is None:
            raise ValueError(f"give features to every candidate or to none; {candidate.id!r} has none")
        for name, value in candidate.features.items():
            if name not in place:
                raise unknown("feature", name, names)
            X[row, place[name]] = np.nan if value is None else value
    lists: dict[str, Any] = {"qid": np.zeros(len(X), np.int64)} if ranker.needs_lists else {}
    scores = np.asarray(ranker.predict(X, **lists), np.float64)
    order = np.argsort(-scores, kind="stable")
    return Order(tuple(candidates[at].id for at in order.tolist()), scores[order], X[order], names)


def by_the_index(search: Pipeline, query: Query, candidates: Sequence[RankCandidate]) -> Order:
    """By the features the index knows; documents it does not have are left out."""
    found = search.rescore(query, [one.id for one in candidates])
    ids = tuple(str(id) for id in found.ids.tolist())
    return Order(ids, found.scores, found.columns["features"], search.features.names)


def own_ranker(path: str | Path) -> Ranker | None:
    """The ranker in a file, where one is named."""
    if not str(path):
        return None
    from rankloop.rankers import load

    return load(path)
