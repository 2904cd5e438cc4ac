"""One step of a pipeline: candidates in, candidates out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from rankloop.search.candidates import Candidates

if TYPE_CHECKING:
    from rankloop.search.pipeline import Pipeline

__all__ = ["Stage", "StageLike", "as_stage"]


class StageLike(Protocol):
    """Anything that takes candidates and gives candidates; the first of a pipeline takes a query."""

    def __call__(self, given: Any, /) -> Candidates: ...


class Stage:
    """Joins with others by `>>`: in `a >> b`, b gets what a gives.

    A stage is any callable from `Candidates` to `Candidates`; one that inherits from this class can start an
    expression. `as_stage` converts everything else that is joined: plain functions, rankers (anything with
    `predict`; one that reads texts as `rerank`), and objects with a method `stage()` that makes one.
    """

    def __call__(self, given: Any) -> Candidates:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__(candidates)")

    def __rshift__(self, after: Any) -> "Pipeline":
        return _joined(self, as_stage(after))

    def __rrshift__(self, before: Any) -> "Pipeline":
        return _joined(as_stage(before), self)


def as_stage(joined: Any) -> StageLike:
    """What was joined as a stage; an error if it cannot be one."""
    if getattr(joined, "reads_text", False):
        from rankloop.search.rerank import rerank

        return rerank(joined)
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


def _joined(*stages: StageLike) -> "Pipeline":
    from rankloop.search.pipeline import Pipeline

    return Pipeline(
        tuple(part for one in stages for part in (one.stages if isinstance(one, Pipeline) else (one,)))
    )
