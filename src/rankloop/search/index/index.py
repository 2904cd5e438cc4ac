"""The index: documents in, candidates out."""

from collections.abc import Callable, Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Array
from rankloop._names import one_of
from rankloop._progress import progress
from rankloop.search.field import Field, read_fields, shown
from rankloop.search.index.added import Added, Skipped
from rankloop.search.index.counts import Counts, count_fields
from rankloop.search.index.embedding import Embedder, Embedding
from rankloop.search.index.match import Filters
from rankloop.search.index.snapshot import MANIFEST, Manifest, Snapshot
from rankloop.search.index.writer import Writer
from rankloop.search.read_documents import Unreadable
from rankloop.search.retriever import Retriever
from rankloop.search.text.analyser import Analyser
from rankloop.search.text.query import Query, as_query

__all__ = ["Added", "Index", "Skipped"]

Document = Mapping[str, Any] | Unreadable


class Index:
    """Searchable documents in a folder, for many readers and one writer.

    Changes wait until `commit`, which makes all of them visible at once: a manifest that names the segments
    of the new generation replaces the old one. A process that dies before loses its own changes and nothing
    else. Readers keep the generation they opened until `refresh`.

    >>> import tempfile
    >>> index = Index.create(tempfile.mkdtemp() + "/shop.index", fields={"title": "text", "price": "number"})
    >>> shoes, hat = {"id": 1, "title": "Red running shoes", "price": 80}, {"id": 2, "title": "Red hat"}
    >>> index.add([shoes, hat]).documents
    2
    >>> index.commit()
    >>> index.retriever(k=10)("shoes to run in").ids
    array([1])
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.snapshot = Snapshot.newest(self.path)
        self._writer: Writer | None = None
        made = self.snapshot.manifest.embedding
        self._embedder = None if made is None else Embedder(made, self.snapshot.fields)

    @classmethod
    def create(
        cls,
        path: str | Path,
        fields: Mapping[str, str | Field],
        *,
        analyser: Analyser | None = None,
        id: str = "id",
        encoder: str | None = None,
    ) -> "Index":
        """A new, empty index. `id` is the name under which documents have their id.

        With an `encoder` ("minilm", or a folder) one field is of kind "vector": it gets the vector of the
        texts of each document, and `retriever` searches by words and by meaning.
        """
        folder = Path(path)
        embedding, fields = Embedding.declared(encoder, fields)
        known = read_fields(fields)
        if id in known:
            raise ValueError(
                f"{id!r} identifies documents, so it cannot be a field; store it under another name"
            )
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            what = (
                "is an index already; open it" if (folder / MANIFEST).exists() else "is not an empty folder"
            )
            raise ValueError(f"{folder} {what}, or choose another path")
        folder.mkdir(parents=True, exist_ok=True)
        Manifest(known, analyser or Analyser(), id_field=id, embedding=embedding).write(folder)
        return cls(folder)

    @classmethod
    def open(cls, path: str | Path) -> "Index":
        """The index in a folder, as of its last commit."""
        return cls(path)

    def __len__(self) -> int:
        return self.snapshot.n_documents

    def __repr__(self) -> str:
        return f"Index({self.path.name!r}, {len(self):,} documents)"

    def __contains__(self, id: object) -> bool:
        return self.snapshot.row(str(id)) >= 0

    def __getitem__(self, id: str | int) -> dict[str, Any]:
        """A committed document as it was given."""
        row = self.snapshot.row(str(id))
        if row < 0:
            raise KeyError(id)
        return self.snapshot.document(row, vectors=True)

    @property
    def trouble(self) -> str | None:
        """What is wrong at the moment: nothing, an index on a disk answers or is an error."""
        return None

    @property
    def fields(self) -> dict[str, Field]:
        return self.snapshot.fields

    @property
    def encoders(self) -> dict[str, Embedder]:
        """The encoder that the index was made with, by its vector field; none where there is none."""
        return {} if self._embedder is None else {self._embedder.made.field: self._embedder}

    @property
    def generation(self) -> int:
        """The number of the commit that this view of the index shows."""
        return self.snapshot.manifest.generation

    @property
    def ids(self) -> Array:
        """The ids of all documents."""
        live = [np.flatnonzero(segment.live) + segment.base for segment in self.snapshot.segments]
        return self.snapshot.ids(np.concatenate([np.empty(0, np.int64), *live]))

    def any_document(self) -> dict[str, Any] | None:
        """One of the documents; None if there is none."""
        for segment in self.snapshot.segments:
            live = np.flatnonzero(segment.live)
            if len(live):
                return segment.stored(int(live[0]))
        return None

    def add(self, documents: Iterable[Document], *, on_error: str = "raise") -> Added:
        """Add new documents; an id that is in the index already is an error (`update` changes it).

        `on_error="skip"` leaves invalid documents out and reports them.
        """
        return self._take(documents, on_error, self._add_one)

    def update(self, documents: Iterable[Document], *, on_error: str = "raise") -> Added:
        """Change the fields that are given (None removes one), keep the others; add new documents."""
        return self._take(documents, on_error, self._update_one)

    def delete(self, ids: Iterable[Any] | str | int) -> int:
        """Delete documents by id; gives how many were in the index."""
        writer = self._writing()
        given = [ids] if isinstance(ids, str | int | np.integer) else ids
        return sum(writer.drop(str(id)) for id in given)

    def commit(self) -> None:
        """Make all changes visible at once, and durable."""
        self._finish(Writer.commit)

    def compact(self) -> None:
        """Commit, and merge everything into one segment, which is smallest and fastest to search."""
        self._writing()
        self._finish(Writer.compact)

    def rollback(self) -> None:
        """Discard the changes since the last commit."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    close = rollback

    def refresh(self) -> bool:
        """Show the last commit of any writer; gives whether there was a newer one."""
        if Manifest.read(self.path).generation == self.generation:
            return False
        self.snapshot = Snapshot.newest(self.path)
        return True

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def check(self) -> int:
        """Compare every file of the index with its checksums; gives their number, or an error."""
        return self.snapshot.check()

    def retriever(self, k: int = 1000, **options: Any) -> Retriever:
        """A stage from a query to its k best documents; the options are those of `Retriever`.

        An index with an encoder searches by words and vectors; `vectors={}` leaves the vectors out.
        """
        options.setdefault("vectors", self.encoders or None)
        return Retriever(self, k, **options)

    def facets(
        self,
        query: str | Query,
        field: str,
        *,
        k: int = 10,
        filters: Filters | None = None,
        match: str = "any",
        typos: str = "never",
    ) -> dict[str, int]:
        """How many matching documents have each value of a keyword field: the k most frequent values.

        An empty query counts all documents; `match` and `typos` are those of the retriever.
        """
        asked: dict[str, Any] = {"k": k, "filters": filters, "match": match, "typos": typos}
        return self.counts(query, [field], own=True, **asked).values[field]

    def counts(
        self, query: str | Query, facets: Iterable[str] = (), ranges: Iterable[str] = (), **options: Any
    ) -> Counts:
        """The facets of several keyword fields and the histograms of several number fields, at once.

        The options are those of `facets`, `bins`, and `own`: unless it is set, the filter of a field does not
        count there, so that its other values can still be chosen.
        """
        return count_fields(self.snapshot, as_query(query, self.fields), facets, ranges, **options)

    def _writing(self) -> Writer:
        if self._writer is None:
            self._writer = Writer(self.path)
        return self._writer

    def _finish(self, how: Callable[[Writer], None]) -> None:
        if self._writer is None:
            return
        try:
            how(self._writer)
        finally:
            self._writer.close()
            self._writer = None
        self.snapshot = Snapshot.newest(self.path)

    def _take(
        self, documents: Iterable[Document], on_error: str, take: Callable[[Writer, Document], None]
    ) -> Added:
        one_of("on_error", on_error, ("raise", "skip"))
        if isinstance(documents, Mapping | str):
            raise ValueError("documents are an iterable of mappings; put a single one into a list")
        writer = self._writing()
        count, skipped = 0, []
        total = len(documents) if isinstance(documents, Sized) else None
        if self._embedder is not None:
            documents = self._embedder.read_ahead(documents, self.snapshot.manifest.id_field, writer.document)
        with progress("indexing", total) as advance:
            for number, document in enumerate(documents):
                try:
                    take(writer, document)
                    count += 1
                except ValueError as error:
                    if on_error == "raise":
                        raise ValueError(f"{error} (document {number + 1} of those given)") from None
                    skipped.append(Skipped(number, str(error)))
                if number % 500 == 499:
                    advance(500, f"{count:,} documents")
        return Added(count, skipped)

    def _identified(self, writer: Writer, document: Document) -> tuple[str, Mapping[str, Any]]:
        name = self.snapshot.manifest.id_field
        if isinstance(document, Unreadable):
            raise ValueError(document.reason)
        if not isinstance(document, Mapping):
            raise ValueError(f"a document maps field names to values, got {type(document).__name__}")
        if document.get(name) is None:
            raise ValueError(
                f"a document needs its id under {name!r}, got the fields {sorted(map(str, document))}"
            )
        return writer.id_of(document[name]), document

    def _add_one(self, writer: Writer, document: Document) -> None:
        id, given = self._identified(writer, document)
        if writer.has(id):
            raise ValueError(f"document {shown(id)} is in the index already; update() changes it")
        writer.add(id, given if self._embedder is None else self._embedder.completed(given, given))

    def _update_one(self, writer: Writer, document: Document) -> None:
        id, given = self._identified(writer, document)
        old = writer.document(id)
        whole = {**(old or {}), **given}
        writer.put(id, whole if self._embedder is None else self._embedder.completed(whole, given, old))
