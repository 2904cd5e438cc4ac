"""Stages joined by `>>`: from a query to the page."""

from collections.abc import Callable
from typing import Any, Protocol

from rankloop.search.candidates import Candidates

__all__ = ["Pipeline", "Stage", "StageLike", "as_stage", "first"]


class StageLike(Protocol):
    """Anything that takes candidates and gives candidates; the first of a pipeline takes a query."""

    def __call__(self, given: Any, /) -> Candidates: ...


class Stage:
    """What can be joined: `a >> b` gives what a gives to b.

    A stage is any callable from `Candidates` to `Candidates`; one that inherits from here starts an
    expression. `as_stage` is asked about everything else that is joined: it takes plain functions, and
    objects with a method `stage()` that makes one (so a ranker or a feature set can join in).
    """

    def __call__(self, given: Any) -> Candidates:
        raise NotImplementedError(f"{type(self).__name__} does not say what it does to candidates")

    def __rshift__(self, after: Any) -> "Pipeline":
        return Pipeline((*_stages(self), *_stages(as_stage(after))))

    def __rrshift__(self, before: Any) -> "Pipeline":
        return Pipeline((*_stages(as_stage(before)), *_stages(self)))


class Pipeline(Stage):
    """Stages in order; called like its first, it gives what its last gives."""

    def __init__(self, stages: tuple[StageLike, ...]) -> None:
        self.stages = stages

    def __call__(self, given: Any) -> Candidates:
        for stage in self.stages:
            given = stage(given)
        return given  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self.stages))


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
