"""The progress of a training that runs in a worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from rankloop._progress import Advance
from rankloop.cluster.backends.backend import Member

__all__ = ["reporting"]


@contextmanager
def reporting(member: Member, module: str) -> Iterator[None]:
    """Where `module` would draw a bar, the first member reports its progress; the others are silent.

    The worker process runs nothing else, so `progress` of the module is replaced while the block runs.
    """

    @contextmanager
    def reported(title: str, total: float | None) -> Iterator[Advance]:
        def advance(by: float = 1, note: str = "") -> None:
            if member.rank == 0:
                member.report(by, note)

        yield advance

    where = import_module(module)
    drawn = where.progress
    where.progress = reported  # type: ignore[attr-defined] # the module has imported the name
    try:
        yield
    finally:
        where.progress = drawn  # type: ignore[attr-defined]  # as above
