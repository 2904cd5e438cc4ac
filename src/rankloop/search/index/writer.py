"""Uncommitted changes of an index, committed all at once or not at all."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Array, Ints32
from rankloop._atomic import sync_folder
from rankloop._checksums import file_sums
from rankloop.search.index.arrays import write_arrays
from rankloop.search.index.buffer import Buffer
from rankloop.search.index.limits import checked_id
from rankloop.search.index.lock import WriterLock
from rankloop.search.index.merge import merge
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import MANIFEST, Part, Snapshot
from rankloop.search.index.vectors import build_graphs

__all__ = ["Writer"]

SPILL_TOKENS = 16_000_000  # the buffer is written to disk at this size
MERGE_DOCUMENTS = 100_000  # a commit merges small segments up to this size; compact merges all


class Writer:
    """The uncommitted documents and deletions of one writer, from its lock to its commit.

    Segments are written beside the committed ones, and become part of the index only when the manifest that
    names them replaces the old one. The next writer removes files that a killed writer left.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = WriterLock(folder / "lock")
        self.lock.acquire()
        try:
            self.start = Snapshot.newest(folder)
        except BaseException:
            self.lock.release()
            raise
        self.segments = list(self.start.segments)
        self.parts = {part.name: part for part in self.start.manifest.parts}
        self.deleted: dict[str, set[int]] = {}
        self.number = self.start.manifest.next_number
        self.id_kind = self._kind = self.start.manifest.id_kind
        self.buffer = self._new_buffer()
        self.changed = False
        self._sweep()

    def _new_buffer(self) -> Buffer:
        return Buffer(self.start.fields, self.start.manifest.analyser)

    def id_of(self, value: Any) -> str:
        """An id as text; the first document decides whether ids are whole numbers or text."""
        id, self._kind = checked_id(value, self.id_kind)
        return id

    def document(self, id: str) -> dict[str, Any] | None:
        """A document as it was given, uncommitted or committed; None if it is not in the index."""
        uncommitted = self.buffer.document(id)
        if uncommitted is not None:
            return uncommitted
        place = self._find(id)
        if place is None:
            return None
        segment, at = place
        found = segment.stored(at)
        for name, field in self.start.fields.items():
            if field.kind == "vector" and not np.isnan(vector := segment.arrays[f"vector.{name}"][at]).any():
                found[name] = vector
        return found

    def _find(self, id: str) -> tuple[Segment, int] | None:
        for segment in self.segments:
            at = segment.find(id)
            if at >= 0 and at not in self.deleted.get(segment.name, ()):
                return segment, at
        return None

    def has(self, id: str) -> bool:
        return id in self.buffer.at or self._find(id) is not None

    def add(self, id: str, document: Mapping[str, Any]) -> None:
        if self.buffer.tokens >= SPILL_TOKENS:
            self._spill()
        self.buffer.add(id, document)
        self.id_kind = self._kind
        self.changed = True

    def put(self, id: str, document: Mapping[str, Any]) -> None:
        """Add a document in place of the one with its id; an invalid one leaves the old one as it is."""
        buffer, old, place = self.buffer, self.buffer.at.get(id), self._find(id)
        buffer.add(id, document)
        self.id_kind = self._kind
        if old is not None:
            buffer.deleted.append(old)
        elif place is not None:
            self.deleted.setdefault(place[0].name, set()).add(place[1])
        self.changed = True
        if buffer.tokens >= SPILL_TOKENS:
            self._spill()

    def drop(self, id: str) -> bool:
        """Delete a document; False if it is not in the index."""
        if self.buffer.drop(id):
            self.changed = True
            return True
        place = self._find(id)
        if place is None:
            return False
        self.deleted.setdefault(place[0].name, set()).add(place[1])
        self.changed = True
        return True

    def commit(self) -> None:
        """Make all changes visible at once."""
        self._spill()
        self._apply_deletions()
        self._merge_small()
        self._swap()

    def compact(self) -> None:
        """Commit with all segments merged into one, and build graphs over many vectors."""
        self._spill()
        self._apply_deletions()
        if len(self.segments) > 1 or any(len(segment.deleted) for segment in self.segments):
            self._replace(self.segments)
        for segment in self.segments:
            part = self.parts[segment.name]
            if not part.graphs and (graphs := build_graphs(segment, self.start.fields, self.folder)):
                sums = tuple(tuple(file_sums(self.folder / file)) for _, file in graphs)
                self.parts[segment.name] = replace(part, graphs=graphs, graph_sums=sums)
                self.changed = True
        self._swap()

    def close(self) -> None:
        self.lock.release()

    def _spill(self) -> None:
        if len(self.buffer):
            self._write(self.buffer.arrays(), np.array(sorted(self.buffer.deleted), np.int32))
            self.buffer = self._new_buffer()

    def _write(self, arrays: dict[str, Array], deleted: Ints32) -> None:
        path = self.folder / f"segment-{self.number}.bin"
        self.number += 1
        digest = write_arrays(path, arrays)
        self.segments.append(Segment(path, digest, np.empty(0, np.int32), 0))
        self.parts[path.name] = Part(path.name, digest)
        if len(deleted):
            self.deleted[path.name] = set(deleted.tolist())

    def _apply_deletions(self) -> None:
        for at, segment in enumerate(self.segments):
            fresh = self.deleted.pop(segment.name, None)
            if fresh:
                gone = np.union1d(segment.deleted, sorted(fresh)).astype(np.int32)
                name = f"{segment.path.stem}.deleted-{self.start.manifest.generation + 1}.bin"
                digest = write_arrays(self.folder / name, {"deleted": gone})
                part = self.parts[segment.name]
                self.parts[segment.name] = replace(part, deleted=name, deleted_digest=digest)
                self.segments[at] = Segment(segment.path, segment.digest, gone, 0)
        self.segments = [segment for segment in self.segments if segment.n_live]

    def _merge_small(self) -> None:
        """Merge the newest segments while the one before is not twice as big; rewrite half-deleted ones."""
        for segment in [s for s in self.segments if 2 * len(s.deleted) > s.documents]:
            self._replace([segment])
        while len(self.segments) > 1:
            one, two = self.segments[-2:]
            if one.n_live >= 2 * two.n_live or one.n_live + two.n_live > MERGE_DOCUMENTS:
                return
            self._replace([one, two])

    def _replace(self, old: list[Segment]) -> None:
        arrays = merge(old, self.start.fields)
        at = self.segments.index(old[0])
        self.segments = [segment for segment in self.segments if segment not in old]
        if len(arrays["live"]):
            self._write(arrays, np.empty(0, np.int32))
            self.segments.insert(at, self.segments.pop())

    def _swap(self) -> None:
        if self.changed or [s.name for s in self.segments] != [p.name for p in self.start.manifest.parts]:
            parts = tuple(self.parts[segment.name] for segment in self.segments)
            sync_folder(self.folder)
            self.start.with_parts(parts, self.number, self.id_kind).write(self.folder)
            sync_folder(self.folder)
        self.start = Snapshot.newest(self.folder)
        self._sweep()

    def _sweep(self) -> None:
        """Remove files that the manifest does not name: from a merge or a killed writer."""
        named = {file for part in self.start.manifest.parts for file in part.files}
        for path in self.folder.iterdir():
            ours = path.name.startswith(("segment-", ".segment-", f".{MANIFEST}."))
            if ours and path.name not in named and path.is_file():
                with suppress(PermissionError):  # Windows keeps files that a reader has mapped
                    path.unlink(missing_ok=True)
