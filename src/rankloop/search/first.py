"""The stage that cuts a page."""

from rankloop.search.candidates import Candidates
from rankloop.search.stage import Stage

__all__ = ["first"]


class first(Stage):  # noqa: N801 - a verb in a pipeline: >> first(10)
    """A stage that keeps the k best candidates.

    >>> first(10)
    first(10)
    """

    def __init__(self, k: int) -> None:
        if k < 1:
            raise ValueError(f"first takes at least 1 document, got {k}")
        self.k = k

    def __call__(self, given: Candidates) -> Candidates:
        return given.take(range(min(self.k, len(given))))

    def __repr__(self) -> str:
        return f"first({self.k})"
