"""What came of documents that were given to an index."""

from typing import NamedTuple

__all__ = ["Added", "Skipped"]


class Skipped(NamedTuple):
    """A document that was left out: its number in the order given, and why."""

    number: int
    reason: str


class Added(NamedTuple):
    """How many documents were taken, and which were skipped."""

    documents: int
    skipped: list[Skipped]
