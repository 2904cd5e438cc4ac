"""What every engine on another machine has: a schema, documents by id, and candidates for pipelines."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from rankloop._names import one_of
from rankloop.engines.answer import Answer
from rankloop.engines.engine_away import EngineAway
from rankloop.engines.remote.adding import Adding, Sent
from rankloop.engines.remote.address import Address
from rankloop.engines.remote.counted import Asked, check_kinds, count_remote
from rankloop.engines.remote.fetched import Fetched
from rankloop.engines.remote.known_rows import KnownRows
from rankloop.engines.remote.remote_retriever import RemoteRetriever
from rankloop.engines.remote.statistics import Statistics, Wanted
from rankloop.engines.requests.engine_search import EngineSearch
from rankloop.engines.requests.query_writer import QueryWriter
from rankloop.search import Candidates, Field, Index, Query
from rankloop.search.index.added import Added
from rankloop.search.index.counts import Counts
from rankloop.search.index.index import Document
from rankloop.search.index.match import Filters
from rankloop.search.index.snapshot import Manifest, Snapshot
from rankloop.search.index.sort_field import sort_field
from rankloop.search.text.query import as_query

__all__ = ["RemoteEngine"]

W = TypeVar("W", bound=QueryWriter)
COUNTED = 5.0  # seconds for which the number of documents is remembered


class Client(Protocol):
    """What calls an engine; `trouble` says why the last call failed."""

    trouble: str | None


class RemoteEngine(ABC):
    """An engine on another machine.

    With a local index, kept in step by `add` and `delete`, candidates are described and shown from it, and
    the engine sends ids alone. A query that finds documents the local index does not have is described from
    the documents that the engine sends, as all are where there is no local index.
    """

    def __init__(self, address: Address, client: Client) -> None:
        self.address, self.client = address, client
        self.local = Index.open(address.local) if address.local is not None else None
        self.schema, self._generation = self._read_schema()
        self._check_local()
        self._empty = Snapshot(Path(), self.schema)
        self._statistics = Statistics(self._size, self._counts)
        self._rows = KnownRows()
        self._count, self._counted = 0, -math.inf  # documents, and when they were counted
        self._partial: str | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.address)!r})"

    def __len__(self) -> int:
        """The number of documents, at most five seconds old; the last one known while the engine is away."""
        now = time.monotonic()
        if now - self._counted > COUNTED:
            with suppress(EngineAway):
                self._count = self._size()[0]
            self._counted = now
        return self._count

    def __contains__(self, id: object) -> bool:
        return self.documents([id])[0] is not None

    def __getitem__(self, id: str | int) -> dict[str, Any]:
        """A document as it was given."""
        found = self.documents([id])[0]
        if found is None:
            raise KeyError(id)
        return found

    @property
    def trouble(self) -> str | None:
        """What was wrong with the last answer; None after a whole one."""
        return self.client.trouble or self._partial

    @property
    def fields(self) -> dict[str, Field]:
        return self.schema.fields

    @property
    def snapshot(self) -> Snapshot:
        """The documents of the local index; without one the fields and analysers alone."""
        return self._empty if self.local is None else self.local.snapshot

    @property
    def generation(self) -> int:
        """The commit of the local index; without one, the second since 1970 in which the index was made."""
        return self._generation if self.local is None else self.local.generation

    def refresh(self) -> bool:
        """Take the newest schema, also behind an alias that was switched, and the newest local commit."""
        try:
            schema, generation = self._read_schema()
        except EngineAway:  # `trouble` says so
            return self.local is not None and self.local.refresh()
        changed = (schema, generation) != (self.schema, self._generation)
        if changed:
            self.schema, self._generation = schema, generation
            self._empty = Snapshot(Path(), schema)
            self._statistics.forget()
            self._counted = -math.inf
        changed |= self.local is not None and self.local.refresh()
        if changed:
            self._check_local()
        return changed

    def retriever(self, k: int = 1000, **options: Any) -> RemoteRetriever:
        """A stage from a query to its k best documents; the options are those of `Retriever`."""
        return RemoteRetriever(self, k, **options)

    def candidates(
        self, query: Query, ids: Sequence[str], documents: Sequence[Mapping[str, Any]] = ()
    ) -> Candidates:
        """Documents for the next stage, unscored, in their order; those that are gone are left out."""
        if self.local is not None and not documents:
            snapshot = self.local.snapshot
            rows = self._rows.of(snapshot, ids)
            if not (rows < 0).any():
                return Candidates(query, snapshot, rows, np.zeros(len(rows)))
        fetched = documents or self.documents(ids)
        pairs = [(id, one) for id, one in zip(ids, fetched, strict=True) if one is not None]
        if not pairs:
            return Candidates.of(query, self._empty, ())
        snapshot = Fetched(self.schema, pairs, query.plain, self._statistics)
        return Candidates.of(query, snapshot, [id for id, _ in pairs])

    def add(self, documents: Iterable[Document], *, on_error: str = "raise") -> Added:
        """Add documents, in place of those with their ids; what the local index has is not sent again.

        Documents go in batches, and into the local index once the engine has acknowledged them, so that an
        interrupted run resumes where it stopped. `on_error="skip"` reports invalid documents and goes on.
        """
        one_of("on_error", on_error, ("raise", "skip"))
        if isinstance(documents, Mapping | str):
            raise ValueError("documents are an iterable of mappings; put a single one into a list")
        try:
            return Adding(self, on_error).run(documents)  # what is refused later does not undo what is in
        finally:
            self._show_changes()

    def delete(self, ids: Iterable[Any]) -> int:
        """Delete documents by id, also from the local index; gives how many there were."""
        given = list(dict.fromkeys(str(id) for id in ([ids] if isinstance(ids, str | int) else ids)))
        count = self._drop(given)
        if self.local is not None:
            with self.local as local:
                local.delete(given)
                local.commit()
        self._show_changes()
        return count

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
        parsed, order = as_query(query, self.fields), sort_field(sort, self.fields)
        return self._search(EngineSearch(parsed, k, offset, order, filters, typos="missing"))

    def found(
        self, query: Query, k: int, *, sort: str | None = None, described: bool = True, **how: Any
    ) -> Answer:
        """The candidates of a retriever; with their documents if `described` and there is no local index.

        `how` has the filters, model, match and typos of the retriever.
        """
        documents = described and self.local is None
        order = sort_field(sort, self.fields)
        return self._search(EngineSearch(query, k, sort=order, documents=documents, **how))

    @abstractmethod
    def documents(self, ids: Iterable[Any]) -> list[dict[str, Any] | None]:
        """Documents as they were given, None for those that are not there."""

    @abstractmethod
    def any_document(self) -> Mapping[str, Any] | None:
        """One of the documents; None if there is none."""

    def facets(self, query: str | Query, field: str, **options: Any) -> dict[str, int]:
        """How many matching documents have each value of a keyword field: the k most frequent values."""
        return self.counts(query, [field], own=True, **options).values[field]

    def counts(
        self,
        query: str | Query,
        facets: Iterable[str] = (),
        ranges: Iterable[str] = (),
        *,
        match: str = "any",
        typos: str = "never",
        **options: Any,
    ) -> Counts:
        """The facets of several keyword fields and the histograms of several number fields.

        The options are `k`, `bins`, `filters`, and `own`: unless it is set, a field ignores its own filter.
        """
        values, numbers = check_kinds(self.fields, facets, ranges)
        understood = self.retriever(typos=typos).understood(query).finding
        return count_remote(partial(self._aggregated, understood, match=match), values, numbers, **options)

    def misspelt(self, query: Query, fields: Iterable[str], typos: str) -> frozenset[str]:
        """The words of a query for which words like them are found.

        With `typos="missing"` those that no document has in any of the fields, with "always" all.
        """
        texts = (one.text for one in query.clauses if one.kind == "word" and not one.excluded)
        searched = self.schema.analyser.terms  # stop words are not
        words = dict.fromkeys(word for text in texts for word in text.split() if searched(word))
        if typos != "missing":
            return frozenset(words if typos == "always" else ())
        return self._statistics.missing(words, tuple(fields), self.snapshot)

    @abstractmethod
    def known(self, ids: Sequence[str]) -> list[bool]:
        """Whether the engine has each of some documents."""

    @abstractmethod
    def send(self, documents: Sequence[tuple[str, Mapping[str, Any]]]) -> Sent:
        """Write documents by id; gives why each of those was refused that was."""

    @abstractmethod
    def _search(self, wanted: EngineSearch) -> Answer:
        """The documents that are asked for."""

    @abstractmethod
    def _publish(self) -> None:
        """Make what was written visible to searches."""

    @abstractmethod
    def _drop(self, ids: Sequence[str]) -> int:
        """Delete documents; gives how many there were."""

    @abstractmethod
    def _read_schema(self) -> tuple[Manifest, int]:
        """The fields and analysers, and when the index was made."""

    @abstractmethod
    def _size(self) -> tuple[int, tuple[float, ...]]:
        """The number of documents, and the mean length of each text field."""

    @abstractmethod
    def _aggregated(self, query: Query, asked: Sequence[Asked], filters: Filters, match: str) -> list[Any]:
        """What is asked of the documents that a query finds."""

    @abstractmethod
    def _counts(self, wanted: Sequence[Wanted]) -> list[int]:
        """How many documents have a word in any of some text fields."""

    def behind(self, documents: int) -> list[str]:
        """Whether the local index has as many documents as the engine; a sentence if not."""
        if self.local is None or len(self.local) == documents:
            return []
        return [
            f"the local index has {len(self.local):,} documents, {self.address} {documents:,}; "
            "run rankloop index again"
        ]

    def _writer(self, kind: type[W], wanted: EngineSearch) -> W:
        """With `typos="missing"`, words that no searched field has are corrected; they are counted first."""
        weights = {
            self._empty.text_fields[at]: weight for at, weight in wanted.model.weights(self._empty).items()
        }
        wrong = self.misspelt(wanted.query, weights, wanted.typos)
        return kind(self.fields, self.schema.analyser, weights, wanted.match, wrong)

    def _show_changes(self) -> None:
        self._publish()
        self._counted = -math.inf
        self._statistics.forget()

    def _check_local(self) -> None:
        """The local index has the same fields, or features would differ from what they are called."""
        if self.local is not None and self.local.fields != self.schema.fields:
            raise ValueError(
                f"{self.local!r} has other fields than {self.address}; name another folder with ?local=, "
                "and fill it with rankloop index"
            )
