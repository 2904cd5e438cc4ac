"""The progress of a training that runs elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from rankloop._progress import Advance
from rankloop.cluster.backends.backend import Member

__all__ = ["telling"]


@contextmanager
def telling(member: Member, module: str) -> Iterator[None]:
    """Where `module` would draw a bar, the first member tells the process that waits; others are silent.

    The worker process is ours alone, so the name is simply taken over while the block runs.
    """

    @contextmanager
    def told(title: str, total: float | None) -> Iterator[Advance]:
        def advance(by: float = 1, note: str = "") -> None:
            if member.rank == 0:
                member.tell(by, note)

        yield advance

    where = import_module(module)
    drawn = where.progress
    where.progress = told  # type: ignore[attr-defined] # every module that draws has imported the name
    try:
        yield
    finally:
        where.progress = drawn  # type: ignore[attr-defined]
