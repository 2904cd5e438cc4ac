"""Stages joined by `>>`: from a query to the page."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from rankloop.search.candidates import Candidates

if TYPE_CHECKING:
    from rankloop.data import RankingDataset
    from rankloop.metrics import Evaluation
    from rankloop.search.features.features import Features
    from rankloop.search.judged_lists import Judgments, Queries
    from rankloop.search.ranked import Ranked

__all__ = ["Pipeline", "Stage", "StageLike", "as_stage", "first"]


class StageLike(Protocol):
    """Anything that takes candidates and gives candidates; the first of a pipeline takes a query."""

    def __call__(self, given: Any, /) -> Candidates: ...


class Stage:
    """What can be joined: `a >> b` gives what a gives to b.

    A stage is any callable from `Candidates` to `Candidates`; one that inherits from here starts an
    expression. `as_stage` is asked about everything else that is joined: it takes plain functions, and
    rankers (anything with `predict`), and objects with a method `stage()` that makes one.
    """

    def __call__(self, given: Any) -> Candidates:
        raise NotImplementedError(f"{type(self).__name__} does not say what it does to candidates")

    def __rshift__(self, after: Any) -> "Pipeline":
        return Pipeline((*_stages(self), *_stages(as_stage(after))))

    def __rrshift__(self, before: Any) -> "Pipeline":
        return Pipeline((*_stages(as_stage(before)), *_stages(self)))


class Pipeline(Stage):
    """Stages in order; called like its first, it gives what its last gives.

    A pipeline `retriever >> features >> ranker >> ...` learns, is measured and is saved like a ranker.
    """

    def __init__(self, stages: tuple[StageLike, ...]) -> None:
        self.stages = stages

    def __call__(self, given: Any, *, after_stage: Callable[[StageLike], None] | None = None) -> Candidates:
        """Run the stages; `after_stage` is called with each stage that has just run."""
        for stage in self.stages:
            given = stage(given)
            if after_stage is not None:
                after_stage(stage)
        return given  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.stages))

    def fit(
        self,
        queries: "Queries",
        judgments: "Judgments",
        *,
        valid: "Queries | None" = None,
        among: str = "judged",
    ) -> Self:
        """Fit the ranker to judged queries, with the features that will serve it.

        `queries` is id -> text (or `Query`), `judgments` id -> document -> grade, or `Qrels`, for those of
        `valid` too. `among` names the documents it learns from: "judged", "retrieved", or "both". A retriever
        that fuses sources and was given no weights gets weights tuned on the same judged queries first.
        """
        from rankloop.search.judged_lists import fused_well

        self.stages = (fused_well(self.stages[0], queries, judgments), *self.stages[1:])
        train = self.dataset(queries, judgments, among=among)
        held_out = None if valid is None else self.dataset(valid, judgments, among=among)
        self._learned().ranker.fit(train, held_out)
        return self

    def dataset(
        self, queries: "Queries", judgments: "Judgments", *, among: str = "judged"
    ) -> "RankingDataset":
        """The lists that `fit` learns from."""
        from rankloop.search.judged_lists import judged_lists

        return judged_lists(self.stages[0], self.features, queries, judgments, among)

    def evaluate(self, queries: "Queries", judgments: "Judgments", metrics: Any = None) -> "Evaluation":
        """How good the shown documents are; what nobody judged counts as label 0."""
        from rankloop.metrics import evaluate
        from rankloop.search.judged_lists import grades_of, run_of

        asked = {str(qid) for qid in queries}
        judged = {qid: grades for qid, grades in grades_of(judgments).items() if qid in asked}
        return evaluate(run_of(self, queries), judged, metrics)

    def rescore(self, query: Any, ids: Iterable[Any]) -> Candidates:
        """Given documents, described and scored as they would be now; `columns["features"]` holds why.

        A logged request gives the same numbers to the last bit while `fingerprint` is the same.
        """
        from rankloop.search.retriever import Retriever

        source = self.stages[0]
        if not isinstance(source, Retriever):
            raise ValueError("rescore looks documents up by id; start the pipeline with index.retriever()")
        described = self.features(Candidates.of(query, source.index.snapshot, ids))
        return self._learned()(described)

    @property
    def features(self) -> "Features":
        """The feature set of the pipeline."""
        from rankloop.search.features.features import Features

        found = [stage for stage in self.stages if isinstance(stage, Features)]
        if len(found) != 1:
            raise ValueError(
                f"one feature set is wanted, as in retriever >> features >> ranker; {self!r} has {len(found)}"
            )
        return found[0]

    @property
    def ranker(self) -> Any:
        """The ranker of the pipeline."""
        return self._learned().ranker

    @property
    def fingerprint(self) -> str:
        """A hash of the index generation, the feature set and the model: what a score depends on."""
        from rankloop.search.load_pipeline import fingerprint

        return fingerprint(self)

    def save(self, path: str | Path) -> None:
        """Write one file that `rankloop.search.load_pipeline(path, index)` reads."""
        from rankloop.search.load_pipeline import save

        save(self, path)

    def _learned(self) -> "Ranked":
        from rankloop.search.ranked import Ranked

        found = [stage for stage in self.stages if isinstance(stage, Ranked)]
        if len(found) != 1:
            raise ValueError(
                f"one ranker is wanted, as in retriever >> features >> ranker; {self!r} has {len(found)}"
            )
        return found[0]


class first(Stage):  # noqa: N801 - it reads aloud: >> first(10)
    """The n best candidates.

    >>> first(10)
    first(10)
    """

    def __init__(self, n: int) -> None:
        if n < 1:
            raise ValueError(f"first takes at least 1 document, got {n}")
        self.n = n

    def __call__(self, given: Candidates) -> Candidates:
        return given.take(range(min(self.n, len(given))))

    def __repr__(self) -> str:
        return f"first({self.n})"


def as_stage(joined: Any) -> StageLike:
    """What was joined as a stage, or why it is none."""
    if not isinstance(joined, Stage) and callable(getattr(joined, "predict", None)):
        from rankloop.search.ranked import Ranked

        return Ranked(joined)
    make: Callable[[], StageLike] | None = getattr(joined, "stage", None)
    if not isinstance(joined, Stage) and make is not None:
        return make()
    if callable(joined):
        stage: StageLike = joined
        return stage
    raise ValueError(
        f"a stage takes candidates and gives candidates; {type(joined).__name__} cannot be called"
    )


def _stages(stage: StageLike) -> tuple[StageLike, ...]:
    return stage.stages if isinstance(stage, Pipeline) else (stage,)
