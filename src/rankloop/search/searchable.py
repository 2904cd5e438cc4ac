"""What a service searches: an index, or an engine behind the same interface."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from rankloop.search.field import Field
    from rankloop.search.index.counts import Counts
    from rankloop.search.index.match import Filters
    from rankloop.search.index.snapshot import Snapshot
    from rankloop.search.retriever import Retriever
    from rankloop.search.text.query import Query

__all__ = ["Searchable"]


class Searchable(Protocol):
    """Documents that are searched, described with features and shown.

    `snapshot` has the fields, the analysers and, where they are on this machine, the documents; `generation`
    grows when the documents are replaced as a whole. `refresh` takes what is newest, and says whether that
    changed anything. `trouble` says in a sentence what is wrong at the moment.
    """

    @property
    def fields(self) -> "dict[str, Field]": ...

    @property
    def snapshot(self) -> "Snapshot": ...

    @property
    def generation(self) -> int: ...

    @property
    def trouble(self) -> str | None: ...

    def __len__(self) -> int: ...

    def __contains__(self, id: object) -> bool: ...

    def __getitem__(self, id: str | int) -> dict[str, Any]: ...

    def any_document(self) -> Mapping[str, Any] | None: ...

    def refresh(self) -> bool: ...

    def retriever(self, k: int = 1000, **options: Any) -> "Retriever": ...

    def facets(
        self,
        query: "str | Query",
        field: str,
        *,
        k: int = 10,
        filters: "Filters | None" = None,
        match: str = "any",
        typos: str = "never",
    ) -> dict[str, int]: ...

    def counts(
        self, query: "str | Query", facets: Iterable[str] = (), ranges: Iterable[str] = (), **options: Any
    ) -> "Counts": ...
