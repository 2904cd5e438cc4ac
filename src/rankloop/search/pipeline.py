"""Stages joined by `>>`: from a query to the page."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np

from rankloop._names import one_of
from rankloop.search.candidates import Candidates
from rankloop.search.deadline import Deadline
from rankloop.search.first import first
from rankloop.search.stage import Stage, StageLike

if TYPE_CHECKING:
    from rankloop.data import RankingDataset, Run
    from rankloop.metrics import Evaluation
    from rankloop.search.features.features import Features
    from rankloop.search.judged_lists import Judgments, Queries
    from rankloop.search.ranked import Ranked
    from rankloop.search.remembered import Remembered

__all__ = ["Pipeline"]

Only = TypeVar("Only")
AHEAD = 8  # queries of each thread that are searched before their results are taken
MOST_THREADS = 16


class Pipeline(Stage):
    """Stages in order; called like its first, it gives what its last gives.

    A pipeline `retriever >> features >> ranker >> ...` learns, is measured and is saved like a ranker.
    """

    def __init__(self, stages: tuple[StageLike, ...]) -> None:
        self.stages = stages

    def __call__(
        self,
        given: Any,
        *,
        after_stage: Callable[[StageLike], None] | None = None,
        deadline: Deadline | None = None,
    ) -> Candidates:
        """Run the stages; `after_stage` is called with each stage that has just run.

        Past the deadline a `DeadlineExceeded` is raised.
        """
        for at, stage in enumerate(self.stages):
            if at == 0 and deadline is not None:
                given = cast(Callable[..., Candidates], stage)(given, deadline=deadline)
            else:
                given = stage(given)
            given.query.check_time()
            if after_stage is not None:
                after_stage(stage)
        return cast(Candidates, given)

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.stages))

    def run(self, queries: "Queries", *, scores: str = "positions", threads: int | None = None) -> "Run":
        """The results of each query (id -> text or `Query`).

        The scores of the run are "positions" counted from below, so that documents keep the order of the page
        also where the pipeline scores them equally; or its "own", which fusion by scores needs. Queries are
        searched in `threads`: by default one for each core, and a single one where the pipeline has
        functions of yours, which may not bear to be called at the same time.
        """
        one_of("scores", scores, ("positions", "own"))
        if threads is not None and threads < 1:
            raise ValueError(f"threads are 1 or more, got {threads}")
        return _run(self._bare(), queries, threads or self._threads, own=scores == "own")

    def _bare(self) -> "Pipeline":
        """Without documents that nobody reads, where an engine would send them."""
        from rankloop.search.retriever import Retriever

        source, *others = self.stages
        if isinstance(source, Retriever) and all(isinstance(stage, first) for stage in others):
            return Pipeline((source.bare(), *others))
        return self

    @property
    def _threads(self) -> int:
        """How many threads may search at once."""
        from rankloop.search.features.features import Features
        from rankloop.search.retriever import Retriever

        for stage in self.stages:
            if isinstance(stage, Features) and (stage.encoders or any(map(callable, stage.declared))):
                return 1
            if (isinstance(stage, Retriever) and stage.vectors) or not isinstance(stage, Stage):
                return 1
        return min(os.cpu_count() or 1, MOST_THREADS)

    def evaluate(self, queries: "Queries", judgments: "Judgments", metrics: Any = None) -> "Evaluation":
        """How good the results are; documents without a judgment count as label 0."""
        from rankloop.metrics import evaluate
        from rankloop.search.judged_lists import grades_of

        wanted = {str(qid) for qid in queries}
        judged = {qid: grades for qid, grades in grades_of(judgments).items() if qid in wanted}
        return evaluate(self.run(queries), judged, metrics)

    def fit(
        self,
        queries: "Queries",
        judgments: "Judgments",
        *,
        valid: "Queries | None" = None,
        among: str = "judged",
    ) -> Self:
        """Fit the ranker to judged queries, with the features that will serve it, and weights of sources.

        `queries` is id -> text (or `Query`), `judgments` id -> document -> grade, or `Qrels`, for those of
        `valid` too. `among` names the documents it learns from: "judged", "retrieved", or "both". A retriever
        that fuses sources and was given no weights gets weights tuned on the same judged queries first, and
        `HybridWeights` after it learn from them too; a pipeline of such stages alone needs no ranker.
        """
        from rankloop.search.hybrid_weights import HybridWeights
        from rankloop.search.judged_lists import tuned
        from rankloop.search.ranked import Ranked
        from rankloop.search.retriever import Retriever

        source = tuned(self.stages[0], queries, judgments)
        self.stages = (source, *self.stages[1:])
        fused = [stage for stage in self.stages if isinstance(stage, HybridWeights)]
        for stage in fused:
            if not isinstance(source, Retriever):
                raise ValueError(f"HybridWeights follow index.retriever(), got {source!r}")
            stage.fit(source, queries, judgments)
        if fused and not any(isinstance(stage, Ranked) for stage in self.stages):
            return self
        train = self.dataset(queries, judgments, among=among)
        held_out = None if valid is None else self.dataset(valid, judgments, among=among)
        self.ranker.fit(train, held_out)
        return self

    def dataset(
        self, queries: "Queries", judgments: "Judgments", *, among: str = "judged"
    ) -> "RankingDataset":
        """The lists that `fit` learns from."""
        from rankloop.search.judged_lists import judged_lists
        from rankloop.search.ranked import Ranked

        rankers = [stage.ranker for stage in self.stages if isinstance(stage, Ranked)]
        reads = bool(rankers) and all(getattr(one, "reads_text", False) for one in rankers)
        features = None if reads else self.features
        return judged_lists(self.stages[0], features, queries, judgments, among)

    def rescore(self, query: Any, ids: Iterable[Any]) -> Candidates:
        """Given documents with their features and scores of now; `columns["features"]` holds the features.

        A logged request gives the same numbers to the last bit while `fingerprint` is the same.
        """
        from rankloop.search.retriever import Retriever

        source = self.stages[0]
        if not isinstance(source, Retriever):
            raise ValueError("rescore looks documents up by id; start the pipeline with index.retriever()")
        found = self._ranked(self.features(source.looked_up(query, ids)))
        return found if self.remembered is None else self.remembered(found)

    @property
    def features(self) -> "Features":
        """The feature set of the pipeline."""
        from rankloop.search.features.features import Features

        return self._only(Features, "feature set")

    @property
    def ranker(self) -> Any:
        """The ranker of the pipeline."""
        return self._ranked.ranker

    @property
    def remembered(self) -> "Remembered | None":
        """What the pipeline remembers of clicks, if anything."""
        from rankloop.search.remembered import Remembered

        return next((stage for stage in self.stages if isinstance(stage, Remembered)), None)

    @property
    def _ranked(self) -> "Ranked":
        from rankloop.search.ranked import Ranked

        found = [stage for stage in self.stages if isinstance(stage, Ranked)]
        by_features = [stage for stage in found if not getattr(stage.ranker, "reads_text", False)]
        return by_features[0] if len(by_features) == 1 else self._only(Ranked, "ranker")

    @property
    def fingerprint(self) -> str:
        """A hash of the index generation, the feature set and the model: all that a score depends on."""
        from rankloop.search.load_pipeline import fingerprint

        return fingerprint(self)

    def save(self, path: str | Path) -> None:
        """Write one file that `rankloop.search.load_pipeline(path, index)` reads."""
        from rankloop.search.load_pipeline import save

        save(self, path)

    def _only(self, kind: type[Only], name: str) -> Only:
        found = [stage for stage in self.stages if isinstance(stage, kind)]
        if len(found) != 1:
            raise ValueError(
                f"a pipeline needs one {name}, as retriever >> features >> ranker; {self!r} has {len(found)}"
            )
        return found[0]


Searched = tuple[str, "Candidates"]


def _run(search: Pipeline, queries: "Queries", threads: int, *, own: bool) -> "Run":
    from rankloop._progress import progress
    from rankloop.data import Run

    qids, ids, scores = [], [], []
    with progress("searching", len(queries)) as advance:
        for qid, found in _in_order(search, queries.items(), threads):
            if own and not (np.diff(found.scores) <= 0).all():
                raise ValueError(
                    f"the scores of query {qid!r} rise down the list, since a later stage put it in another "
                    "order; take scores='positions'"
                )
            qids.append(np.full(len(found), qid))
            ids.append(np.asarray(found.ids, np.str_))
            scores.append(found.scores if own else np.arange(len(found), 0, -1.0))
            advance(1, "")
    none = np.empty(0, np.str_)
    return Run(
        np.concatenate([none, *qids]), np.concatenate([none, *ids]), np.concatenate([np.empty(0), *scores])
    )


def _in_order(search: Pipeline, queries: Iterable[tuple[Any, Any]], threads: int) -> Iterator[Searched]:
    """The results in the order of the queries; an error or an interrupt ends the rest."""

    def one(named: tuple[Any, Any]) -> Searched:
        return str(named[0]), search(named[1])

    if threads == 1:
        yield from map(one, queries)
        return
    left = iter(queries)
    with ThreadPoolExecutor(threads, "rankloop-run") as pool:
        waiting: deque[Future[Searched]] = deque()
        waiting.extend(pool.submit(one, named) for named in islice(left, AHEAD * threads))
        try:
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(pool.submit(one, named) for named in islice(left, 1))
        finally:
            for future in waiting:
                future.cancel()
