"""Documents that come over the web: written, changed and deleted in the index or the engine."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from rankloop.engines import Engine
from rankloop.engines import open as open_engine
from rankloop.engines.remote.address import is_address
from rankloop.search import Index, Searchable
from rankloop.search.index.added import Added
from rankloop.search.index.lock import IndexLocked
from rankloop.serve.config import Config
from rankloop.serve.http.schema_documents import DocumentItem

__all__ = ["Documents", "DocumentsBusy"]

PATIENCE = 2.0  # seconds that a change waits for those of other workers
_LOOK = 0.02  # seconds between two looks at the lock
_TWICE = "this id comes twice in one request; the first one counts"

Given = Mapping[str, Any]


class DocumentsBusy(Exception):  # noqa: N818 - what happened, not a mistake of anybody
    """Another program writes to the index; trying again helps."""


class Documents:
    """Changes of documents, one batch at a time, committed when a method returns.

    They are written through an index or engine of their own, so that searches under way are not disturbed;
    this process shows them at once, the other workers when they look, every second.
    """

    def __init__(self, config: Config, searched: Searchable) -> None:
        self._where, self._searched = config.index, searched
        self._turn = threading.Lock()
        self._engine: Engine | None = None

    @property
    def id_field(self) -> str:
        """The name under which documents have their id."""
        return self._searched.snapshot.manifest.id_field

    def get(self, id: str) -> Given:
        """A document as it was given."""
        try:
            return self._searched[id]
        except KeyError:
            raise LookupError("there is no such document") from None

    def put(self, documents: Sequence[Given]) -> list[DocumentItem]:
        """Store documents, each in place of the one with its id."""
        with self._target() as target:
            return self._items(documents, target.put)

    def patch(self, documents: Sequence[Given]) -> list[DocumentItem]:
        """Change the given fields of documents that are there; null removes one."""
        with self._target() as target:
            ids = [str(one[self.id_field]) for one in documents if one.get(self.id_field) is not None]
            return self._items(documents, target.change, known=target.known(ids))

    def delete(self, ids: Sequence[str]) -> list[DocumentItem]:
        """Delete documents by id; one that is not there is reported as absent."""
        given = list(dict.fromkeys(ids))
        with self._target() as target:
            there = target.known(given)
            if there:
                target.delete(sorted(there))
        return [DocumentItem(id=id, status="deleted" if id in there else "absent") for id in given]

    @contextmanager
    def _target(self) -> Iterator["_Target"]:
        """What is written to, in the turn of this request among all others."""
        if not self._turn.acquire(timeout=PATIENCE):
            raise DocumentsBusy("other changes of documents are under way; try again in a moment")
        try:
            if is_address(self._where):
                if self._engine is None:
                    self._engine = open_engine(str(self._where))
                yield _InEngine(self._engine)
            else:
                with _locked(Index.open(self._where)) as index:
                    yield _InIndex(index)
            self._searched.refresh()
        except IndexLocked as error:
            raise DocumentsBusy(_busy(error)) from None
        finally:
            self._turn.release()

    def _items(
        self,
        documents: Sequence[Given],
        take: Callable[[Sequence[Given]], Added],
        known: set[str] | None = None,
    ) -> list[DocumentItem]:
        """What came of each document: those without an id, or not among the `known`, are not taken."""
        items: dict[int, DocumentItem] = {}
        wanted: dict[int, Given] = {}
        seen: set[str] = set()
        for at, one in enumerate(documents):
            id = one.get(self.id_field)
            if isinstance(id, bool) or not isinstance(id, str | int) or id == "":
                reason = f"a document needs its id, text or a whole number, under {self.id_field!r}"
                items[at] = DocumentItem(id=None, status="refused", reason=reason)
            elif str(id) in seen:
                items[at] = DocumentItem(id=str(id), status="refused", reason=_TWICE)
            elif known is not None and str(id) not in known:
                items[at] = DocumentItem(id=str(id), status="absent")
            else:
                items[at] = DocumentItem(id=str(id), status="stored")
                wanted[at] = one
                seen.add(str(id))
        places = list(wanted)
        for skip in take(list(wanted.values())).skipped if wanted else ():
            id = items[places[skip.number]].id
            items[places[skip.number]] = DocumentItem(id=id, status="refused", reason=skip.reason)
        return [items[at] for at in range(len(documents))]


class _Target(Protocol):
    """Where documents are written; changes are committed when a method returns."""

    def known(self, ids: Sequence[str]) -> set[str]: ...

    def put(self, documents: Sequence[Given]) -> Added: ...

    def change(self, documents: Sequence[Given]) -> Added: ...

    def delete(self, ids: Sequence[str]) -> object: ...


class _InIndex:
    """An index whose lock is held."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def known(self, ids: Sequence[str]) -> set[str]:
        rows = self.index.snapshot.rows_of(ids).tolist() if ids else []
        return {id for id, row in zip(ids, rows, strict=True) if row >= 0}

    def put(self, documents: Sequence[Given]) -> Added:
        return self.change([self._whole(one) for one in documents])

    def change(self, documents: Sequence[Given]) -> Added:
        added = self.index.update(documents, on_error="skip")
        self.index.commit()
        return added

    def delete(self, ids: Sequence[str]) -> None:
        self.index.delete(ids)
        self.index.commit()

    def _whole(self, document: Given) -> Given:
        """A document that leaves nothing of the one with its id; an encoder computes its vector again."""
        snapshot, name = self.index.snapshot, self.index.snapshot.manifest.id_field
        row = snapshot.row(str(document[name]))
        if row < 0:
            return document
        vectors = [one for one, field in self.index.fields.items() if field.kind == "vector"]
        gone = {*snapshot.document(row), *vectors} - {*self.index.encoders, name}
        return {**dict.fromkeys(gone), **document}


class _InEngine:
    """An engine on another machine, and its local index."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def known(self, ids: Sequence[str]) -> set[str]:
        found = self.engine.documents(ids)
        return {id for id, one in zip(ids, found, strict=True) if one is not None}

    def put(self, documents: Sequence[Given]) -> Added:
        return self.engine.add(documents, on_error="skip")

    def change(self, documents: Sequence[Given]) -> Added:
        name = self.engine.snapshot.manifest.id_field
        old = self.engine.documents([str(one[name]) for one in documents])
        whole = [{**(before or {}), **one} for before, one in zip(old, documents, strict=True)]
        return self.put(whole)

    def delete(self, ids: Sequence[str]) -> None:
        self.engine.delete(ids)


@contextmanager
def _locked(index: Index) -> Iterator[Index]:
    """The index with its lock held, as of the last commit of any writer."""
    until = time.monotonic() + PATIENCE
    with index:
        while True:
            try:
                index.delete(())  # takes the lock, and changes nothing
                break
            except IndexLocked:
                if time.monotonic() > until:
                    raise
            time.sleep(_LOOK)
        index.refresh()
        yield index


def _busy(error: IndexLocked) -> str:
    who = str(error).partition("is being written by ")[2].partition(";")[0] or "another process"
    return f"the index is being written by {who}, as by rankloop index; send this again later"
