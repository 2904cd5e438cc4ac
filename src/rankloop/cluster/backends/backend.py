"""Backends: where the tasks of a job run."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rankloop._names import one_of
from rankloop._progress import Advance, progress

__all__ = ["Backend", "Member", "backend_of", "over"]


class Member(Protocol):
    """A worker of a team: its rank, and how it exchanges values with the others."""

    rank: int
    count: int

    @property
    def machine(self) -> int: ...

    def gather(self, value: Any) -> list[Any]: ...

    def address(self) -> str: ...

    def report(self, by: float, note: str = "") -> None: ...


class Backend(Protocol):
    """Runs pure functions in workers: one input at a time, or all workers at once.

    The caller merges results in the order of the inputs, so they do not depend on which worker did what, or
    on which was first.
    """

    workers: int

    def map(
        self, task: Callable[[Any], Any], inputs: Sequence[Any], done: Callable[[int, Any], None]
    ) -> None: ...

    def together(
        self, task: Callable[..., Any], argument: Any, advance: Advance, *, torch: bool = False
    ) -> Any: ...


def backend_of(backend: str, workers: int | None) -> Backend:
    """Processes of this machine ("local"), or a Ray cluster ("ray")."""
    one_of("backend", backend, ("local", "ray"))
    if workers is not None and workers < 1:
        raise ValueError(f"workers is 1 or more, got {workers}")
    if backend == "local":
        from rankloop.cluster.backends.local import Local

        return Local(workers)
    from rankloop.cluster.backends.ray import Ray

    return Ray(workers)


def over(
    task: Callable[[Any], Any],
    inputs: Sequence[Any],
    *,
    backend: str,
    workers: int | None,
    title: str,
    sizes: Sequence[float] | None = None,
    done: Callable[[int, Any], None] | None = None,
) -> list[Any]:
    """`task` of each input, in the order of the inputs; one bar shows how much of `sizes` is finished.

    With `done` each result is passed to it as it comes, in any order, and none is kept.
    """
    weights = [1.0] * len(inputs) if sizes is None else list(sizes)
    found: list[Any] = [None] * len(inputs)
    finished = 0
    with progress(title, sum(weights)) as advance:

        def take(index: int, result: Any) -> None:
            nonlocal finished
            if done is None:
                found[index] = result
            else:
                done(index, result)
            finished += 1
            advance(weights[index], f"{finished} of {len(found)}")

        backend_of(backend, workers).map(task, inputs, take)
    return found
