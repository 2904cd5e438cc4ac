"""What an engine answers to a query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rankloop._arrays import Floats

__all__ = ["Answer"]


@dataclass(frozen=True, eq=False)
class Answer:
    """Documents best first, and how the engine understood the query.

    `matches` is how many documents match in all. `partial` says in a sentence what is missing where not all
    of the engine answered; it is None for a whole answer. `clauses` holds the score of each named clause,
    such as `bm25(title)`, nan where it did not match. `documents` are there if they were asked for.
    """

    ids: tuple[str, ...]
    scores: Floats
    matches: int
    understood: str
    partial: str | None = None
    seconds: float = 0.0
    clauses: Mapping[str, Floats] = field(default_factory=dict)
    documents: tuple[Mapping[str, Any], ...] = ()

    def __len__(self) -> int:
        return len(self.ids)
