"""How an engine is."""

from typing import NamedTuple

__all__ = ["Health"]


class Health(NamedTuple):
    """Whether an engine answers and holds all its documents, and what is wrong, in sentences.

    `status` is "green" (all well), "yellow" (nothing is missing, but a failure may be next), "red" (documents
    are missing) or "away". A local index has one node.
    """

    status: str
    version: str
    documents: int
    nodes: int = 1
    troubles: tuple[str, ...] = ()
