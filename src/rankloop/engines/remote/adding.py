"""Documents into an engine on another machine and into the local index, batch by batch."""

import json
from collections.abc import Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any

from rankloop._progress import progress
from rankloop.engines.requests.plain_value import plain_value
from rankloop.search.index.added import Added, Skipped
from rankloop.search.index.index import Document
from rankloop.search.read_documents import Unreadable

if TYPE_CHECKING:
    from rankloop.engines.remote.remote_engine import RemoteEngine

__all__ = ["Adding", "Sent"]

BATCH = 500  # documents of one request
BYTES = 5_000_000  # of one request
COMMIT = 5000  # documents between two commits of the local index

Sent = dict[str, str]  # the ids that were refused, and why


class Adding:
    """One run of adding: it checks documents, sends them, and keeps the local index in step."""

    def __init__(self, engine: "RemoteEngine", on_error: str) -> None:
        self.engine, self.on_error = engine, on_error
        self.taken = 0
        self.skipped: list[Skipped] = []
        self._waiting: dict[str, tuple[int, dict[str, Any]]] = {}
        self._bytes = 0
        self._uncommitted = 0

    def run(self, documents: Iterable[Document]) -> Added:
        """Take all documents; the local index is committed even if a later one is refused."""
        total = len(documents) if isinstance(documents, Sized) else None
        try:
            with progress("indexing", total) as advance:
                for number, given in enumerate(documents):
                    self._take(number, given)
                    if number % BATCH == BATCH - 1:
                        advance(BATCH, f"{self.taken:,} documents")
                self._flush()
        finally:
            self._commit()
        return Added(self.taken, self.skipped)

    def _take(self, number: int, given: Document) -> None:
        try:
            id, document = self._checked(given)
        except ValueError as error:
            self._refuse(number, str(error))
            return
        if id in self._waiting:
            self._flush()  # the later of two documents with one id must come later
        self._waiting[id] = (number, document)
        self._bytes += len(json.dumps(document))
        if len(self._waiting) >= BATCH or self._bytes >= BYTES:
            self._flush()

    def _checked(self, given: Document) -> tuple[str, dict[str, Any]]:
        """The id of a document, and the document as JSON has it."""
        if isinstance(given, Unreadable):
            raise ValueError(given.reason)
        if not isinstance(given, Mapping):
            raise ValueError(f"a document maps field names to values, got {type(given).__name__}")
        name, schema = self.engine.schema.id_field, self.engine.schema
        id = given.get(name)
        if isinstance(id, bool) or id is None or not str(id):
            raise ValueError(
                f"a document needs its id under {name!r}, got the fields {sorted(map(str, given))}"
            )
        for field_name, field in schema.fields.items():
            value = given.get(field.source or field_name)
            try:
                if value is not None:
                    field.convert(value)
            except ValueError as error:
                raise ValueError(f"document {str(id)!r}, field {field_name!r}: wanted {error}") from None
        kept = {
            key: plain_value(value, schema.fields.get(key))
            for key, value in given.items()
            if value is not None
        }
        return str(id), kept

    def _flush(self) -> None:
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        if not waiting:
            return
        unchanged = self._unchanged(waiting)
        fresh = {id: one for id, one in waiting.items() if id not in unchanged}
        refused = self.engine.send([(id, document) for id, (_, document) in fresh.items()]) if fresh else {}
        self.taken += len(waiting) - len(refused)
        local = self.engine.local
        if local is not None:
            kept = [document for id, (_, document) in fresh.items() if id not in refused]
            local.delete([id for id in fresh if id not in refused])
            local.add(kept)
            self._uncommitted += len(kept)
            if self._uncommitted >= COMMIT:
                self._commit()
        for id, reason in refused.items():
            self._refuse(waiting[id][0], f"document {id!r}: {reason}")

    def _unchanged(self, waiting: Mapping[str, tuple[int, dict[str, Any]]]) -> set[str]:
        """Documents that are the same in the local index, and that the engine has."""
        local = self.engine.local
        if local is None:
            return set()
        snapshot, ids = local.snapshot, list(waiting)
        vectors = [name for name, field in snapshot.fields.items() if field.kind == "vector"]
        same = [
            id
            for id, row in zip(ids, snapshot.rows_of(ids).tolist(), strict=True)
            if row >= 0
            and not any(name in waiting[id][1] for name in vectors)
            and snapshot.document(row) == waiting[id][1]
        ]
        there = self.engine.known(same) if same else []
        return {id for id, known in zip(same, there, strict=True) if known}

    def _commit(self) -> None:
        if self.engine.local is not None and self._uncommitted:
            self.engine.local.commit()
            self._uncommitted = 0

    def _refuse(self, number: int, reason: str) -> None:
        if self.on_error == "raise":
            raise ValueError(f"{reason} (document {number + 1} of those given)")
        self.skipped.append(Skipped(number, reason))
