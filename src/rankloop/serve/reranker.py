"""Candidates of another engine, in the order of our ranker."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Floats, Singles
from rankloop._names import unknown
from rankloop.rankers.base.feature_names import feature_names
from rankloop.rankers.base.ranker import Ranker
from rankloop.search import Deadline, Pipeline, Query, Searchable
from rankloop.serve.answer import query_of
from rankloop.serve.config import Config
from rankloop.serve.events.recorder import Recorder
from rankloop.serve.events.signer import new_page_id
from rankloop.serve.http.schema import RankCandidate, RankRequest, Result, SearchAnswer
from rankloop.serve.models.live import Model, logged_features

__all__ = ["Reranker"]


class Reranker:
    """Orders candidates that a caller found in its own engine: by their own features, or the index's."""

    def __init__(self, config: Config, index: Searchable) -> None:
        self.config, self.index = config, index
        self._own = _own_ranker(config.rank_with)
        self._computed = frozenset(logged_features(index, config).names)

    def rank(
        self,
        request: RankRequest,
        model: Model,
        recorder: Recorder,
        *,
        address: str | None = None,
        deadline: Deadline | None = None,
    ) -> SearchAnswer:
        """The caller's own candidates in the order of a version, or of the ranker in `rank_with`."""
        start = time.perf_counter()
        self.config.limits.check(request.query)
        ids = [one.id for one in request.candidates]
        if len(set(ids)) != len(ids):
            raise ValueError("a candidate was given twice; drop the repetition")
        until = deadline or Deadline(self.config.limits.seconds)
        query = replace(query_of(request.query, self.index, {}), deadline=until)
        ranker = model.version
        if all(one.features is None for one in request.candidates):
            order = _by_index(model.pipeline, query, request.candidates)
        elif self._own is not None:
            order, ranker = _by_own_features(self._own, request.candidates), Path(self.config.rank_with).name
        else:
            order = _by_own_features(model.pipeline.ranker, request.candidates)
        computed = self._computed.union(model.pipeline.features.names)
        query = order.query or query
        seconds = {"rank": time.perf_counter() - start}
        k = min(request.k, len(order.ids))
        impression = None
        if request.record:
            shown = model.page(
                new_page_id(),
                query,
                self.index.generation,
                ranker=ranker,
                seconds=seconds,
                documents=order.ids[:k],
                scores=order.scores[:k],
                features=order.features[:k],
                feature_names=order.names_among(computed),
                layout=request.layout,
                user=recorder.user(request.user),
                origin=recorder.origin(address),
                found=len(order.ids),
            )
            impression = recorder.page(shown)
        results = [
            Result(position=at + 1, id=order.ids[at], score=float(order.scores[at]), title=order.ids[at])
            for at in range(k)
        ]
        return SearchAnswer(
            impression=impression,
            query=request.query,
            found=len(order.ids),
            results=results,
            ranker=ranker,
            generation=self.index.generation,
            seconds=seconds | {"total": time.perf_counter() - start},
            understood=query.understood,
        )


@dataclass(frozen=True, eq=False)
class _Order:
    """Documents best first, with the features behind their scores, and the query that these are of."""

    ids: tuple[str, ...]
    scores: Floats
    features: Singles
    names: tuple[str, ...]
    query: Query | None = None  # None where the features came with the candidates

    def names_among(self, computed: Collection[str]) -> tuple[str, ...]:
        """The names to record: what came with the candidates is not what the index computes by that name.

        Anybody may send it, and learning takes the features of a document from the page that showed it last.
        """
        if self.query is not None:
            return self.names
        return tuple(f"given({name})" if name in computed else name for name in self.names)


def _by_own_features(ranker: Ranker, candidates: Sequence[RankCandidate]) -> _Order:
    """By features that come with the candidates; one that is missing is nan, not zero."""
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
    return _Order(tuple(candidates[at].id for at in order.tolist()), scores[order], X[order], names)


def _by_index(search: Pipeline, query: Query, candidates: Sequence[RankCandidate]) -> _Order:
    """By the features of the index; documents it does not have are left out."""
    found = search.rescore(query, [one.id for one in candidates])
    ids = tuple(str(id) for id in found.ids.tolist())
    return _Order(ids, found.scores, found.columns["features"], search.features.names, found.query)


def _own_ranker(path: str | Path) -> Ranker | None:
    """The ranker in a file, where one is named."""
    if not str(path):
        return None
    from rankloop.rankers import load

    return load(path)
