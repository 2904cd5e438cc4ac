"""The contract of engines: one small interface over whatever retrieves."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from rankloop.engines.answer import Answer
from rankloop.engines.engine_features import EngineFeatures
from rankloop.engines.health import Health
from rankloop.engines.score_part import ScorePart
from rankloop.search import Query, Searchable
from rankloop.search.index.added import Added
from rankloop.search.index.index import Document
from rankloop.search.index.match import Filters

__all__ = ["Engine"]


class Engine(Searchable, Protocol):
    """Documents in an engine; raises `Unsupported` for what it cannot do, `EngineAway` if it is away.

    `sort` is a number or date field, with a minus for the largest first; without it the best are first. An
    empty query finds all documents that pass the filters, or, sorted, all.
    """

    def retrieve(
        self,
        query: str | Query,
        k: int = 10,
        *,
        offset: int = 0,
        sort: str | None = None,
        filters: Filters | None = None,
    ) -> Answer:
        """The k best documents after the first `offset`."""
        ...

    def computes(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the named features that the engine computes itself; the others are rankloop's alone."""
        ...

    def features(
        self, query: str | Query, ids: Sequence[Any], names: Sequence[str] | None = None
    ) -> EngineFeatures:
        """The features of documents as the engine computes them; by default all that it can."""
        ...

    def documents(self, ids: Iterable[Any]) -> list[dict[str, Any] | None]:
        """Documents as they were given, None for those that are not there."""
        ...

    def explain(self, query: str | Query, id: Any) -> ScorePart:
        """What the engine's own score of a document is made of."""
        ...

    def suggest(self, text: str, k: int = 5) -> list[str]:
        """Titles of the best documents for what was typed so far."""
        ...

    def add(self, documents: Iterable[Document], *, on_error: str = "raise") -> Added:
        """Add documents, in place of those with their ids."""
        ...

    def delete(self, ids: Iterable[Any]) -> int:
        """Delete documents by id; gives how many there were."""
        ...

    def health(self) -> Health:
        """How the engine is; never an error."""
        ...
