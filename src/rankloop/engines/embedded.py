"""The embedded index as an engine."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rankloop import __version__
from rankloop._names import one_of
from rankloop.engines.answer import Answer
from rankloop.engines.engine_features import EngineFeatures
from rankloop.engines.health import Health
from rankloop.engines.requests.title_field import title_field
from rankloop.engines.score_part import ScorePart
from rankloop.search import Features, Field, Index, Query, Retriever
from rankloop.search.index.added import Added
from rankloop.search.index.counts import Counts
from rankloop.search.index.index import Document
from rankloop.search.index.match import Filters
from rankloop.search.index.snapshot import Snapshot

__all__ = ["Embedded"]


class Embedded:
    """An index in a folder behind the interface of engines; changes are committed when they return.

    >>> import tempfile
    >>> index = Index.create(tempfile.mkdtemp() + "/shop.index", fields={"title": "text", "price": "number"})
    >>> shop = Embedded(index)
    >>> shoes, hat = {"id": 1, "title": "Red shoes", "price": 80}, {"id": 2, "title": "Red hat", "price": 20}
    >>> shop.add([shoes, hat]).documents
    2
    >>> shop.retrieve("red", sort="price").ids
    ('2', '1')
    """

    def __init__(self, index: Index | str | Path) -> None:
        self.index = index if isinstance(index, Index) else Index.open(index)

    def __repr__(self) -> str:
        return repr(self.index)

    def __len__(self) -> int:
        return len(self.index)

    def __contains__(self, id: object) -> bool:
        return id in self.index

    def __getitem__(self, id: str | int) -> dict[str, Any]:
        return self.index[id]

    @property
    def trouble(self) -> str | None:
        """What is wrong at the moment: nothing."""
        return self.index.trouble

    @property
    def fields(self) -> dict[str, Field]:
        return self.index.fields

    @property
    def snapshot(self) -> Snapshot:
        return self.index.snapshot

    @property
    def generation(self) -> int:
        return self.index.generation

    def any_document(self) -> dict[str, Any] | None:
        """One of the documents; None if there is none."""
        return self.index.any_document()

    def refresh(self) -> bool:
        """Show the last commit of any writer; gives whether there was a newer one."""
        return self.index.refresh()

    def retriever(self, k: int = 1000, **options: Any) -> Retriever:
        """A stage from a query to its k best documents; the options are those of `Retriever`."""
        return self.index.retriever(k, **options)

    def facets(self, query: str | Query, field: str, **options: Any) -> dict[str, int]:
        """How many matching documents have each value of a keyword field."""
        return self.index.facets(query, field, **options)

    def counts(
        self, query: str | Query, facets: Iterable[str] = (), ranges: Iterable[str] = (), **options: Any
    ) -> Counts:
        """The facets of several keyword fields and the histograms of several number fields."""
        return self.index.counts(query, facets, ranges, **options)

    def retrieve(
        self,
        query: str | Query,
        k: int = 10,
        *,
        offset: int = 0,
        sort: str | None = None,
        filters: Filters | None = None,
    ) -> Answer:
        """The k best documents after the first `offset`; sorting looks at all that match."""
        start = time.perf_counter()
        found = self.index.retriever(max(offset + k, 1), typos="missing", filters=filters, sort=sort)(query)
        page = found.take(range(min(offset, len(found)), min(offset + k, len(found))))
        return Answer(
            ids=tuple(map(str, page.ids.tolist())),
            scores=page.scores,
            matches=found.matches,
            understood=found.query.plain if found.leaves else "no word that is searched",
            seconds=time.perf_counter() - start,
        )

    def computes(self, names: Iterable[str]) -> tuple[str, ...]:
        """All of them: here the engine is rankloop."""
        return tuple(names)

    def features(
        self, query: str | Query, ids: Sequence[Any], names: Sequence[str] | None = None
    ) -> EngineFeatures:
        """The features of documents; by default `Features.standard`."""
        declared = Features.standard(self) if names is None else Features(names)
        found = self.index.retriever().looked_up(query, ids)
        return EngineFeatures(tuple(map(str, found.ids.tolist())), declared.names, declared.matrix(found))

    def documents(self, ids: Iterable[Any]) -> list[dict[str, Any] | None]:
        """Documents as they were given, None for those that are not there."""
        snapshot = self.snapshot
        rows = snapshot.rows_of([str(id) for id in ids]).tolist()
        return [None if row < 0 else snapshot.document(row, vectors=True) for row in rows]

    def explain(self, query: str | Query, id: Any) -> ScorePart:
        """The BM25 of each term in each field."""
        parts = self.index.retriever(typos="missing").explain(query, id)
        shares = tuple(
            ScorePart(
                part.score,
                f"{part.field}:{part.term}, {part.tf} times, in {part.df:,} documents, "
                f"length {part.length} (mean {part.average_length:.1f})",
            )
            for part in parts
        )
        return ScorePart(sum(part.score for part in parts), "BM25 over all fields", shares)

    def suggest(self, text: str, k: int = 5) -> list[str]:
        """Titles of the best documents for what was typed so far."""
        if not text.strip():
            return []
        title = title_field(self.fields)
        typed = Query.parse(f"{text} {text.split()[-1]}*", self.fields)
        found = self.index.retriever(3 * k, typos="missing")(typed)
        titles = (str(hit.document.get(title) or hit.id) for hit in found)
        return list(dict.fromkeys(titles))[:k]

    def add(self, documents: Iterable[Document], *, on_error: str = "raise") -> Added:
        """Add documents, in place of those with their ids, and commit."""
        one_of("on_error", on_error, ("raise", "skip"))
        with self.index as index:
            added = index.update(documents, on_error=on_error)
            index.commit()
        return added

    def delete(self, ids: Iterable[Any]) -> int:
        """Delete documents by id, and commit; gives how many there were."""
        with self.index as index:
            count = index.delete(ids)
            index.commit()
        return count

    def health(self) -> Health:
        """How the index is."""
        return Health("green", f"rankloop {__version__}", len(self))
