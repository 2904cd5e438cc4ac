"""A shard folder while it is written: shards in any order, the manifest last; finished shards are kept."""

import json
from contextlib import ExitStack
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rankloop._checksums import signed_json
from rankloop.data.shards.lock import LOCK, writing
from rankloop.data.shards.manifest import MANIFEST, Entry, encoded, merged
from rankloop.data.shards.store import Store

if TYPE_CHECKING:
    import polars

__all__ = ["ShardFolder", "put_shard"]

_JOB = "job.json"
_DONE = "done-"
_ROLES = ("qid", "label", "docid", "query_text", "query_weight", "item_weight", "position")


class ShardFolder:
    """Writes `target` while its block runs, and locks it against other writers.

    Without `job` an error leaves nothing behind. A `job` describes the work in plain values: then finished
    shards stay, each with a note beside it, and the same job, run again, resumes after them (`done`).
    """

    def __init__(self, target: str | Path, job: dict[str, Any] | None = None) -> None:
        self.store, self.job = Store(target), job
        self.entries: dict[int, Entry] = {}
        self.schema: dict[str, str] = {}
        self.blank: polars.DataFrame | None = None
        self._held = ExitStack()

    def __enter__(self) -> Self:
        self._held.enter_context(writing(self.store))
        try:
            self._begin()
        except BaseException:
            self._held.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and self.job is None:
            for name in self.store.sizes():
                if name != LOCK:
                    self.store.remove(name)
        self._held.close()
        if kind is not None and self.job is None:
            self.store.remove_folder()

    @property
    def done(self) -> frozenset[int]:
        return frozenset(self.entries)

    def write(self, frame: "polars.DataFrame", query: str, number: int) -> None:
        """One shard, sorted by query."""
        self.blank = frame.clear() if self.blank is None else self.blank
        self.add(*put_shard(self.store, frame, query, number, note=self.job is not None))

    def add(self, entry: Entry, schema: dict[str, str]) -> None:
        """Record a shard that a worker wrote."""
        if self.schema and schema != self.schema:
            raise ValueError(f"shard {entry.number} has other columns than the shards before it")
        self.schema, self.entries[entry.number] = schema, entry

    def finish(self, kind: str, query: str, shards: int) -> None:
        """Write empty shards where no query belongs, then the manifest, which makes the folder complete."""
        for number in range(shards):
            if number not in self.entries:
                self.write(_empty(self.schema) if self.blank is None else self.blank, query, number)
        entries = [self.entries[number] for number in range(shards)]
        about = _features(self.schema) if kind == "documents" else {}
        manifest = merged(kind, query, self.schema, entries, about)
        self.store.write(MANIFEST, signed_json(manifest).encode())
        kept = {entry.name for entry in entries} | {MANIFEST, LOCK}
        for name in self.store.sizes():
            if name not in kept:
                self.store.remove(name)

    def _begin(self) -> None:
        there = {name for name in self.store.sizes() if name != LOCK}
        if MANIFEST in there:
            raise ValueError(f"{self.store.path} holds shards already; remove it or choose another name")
        if self.job is not None and _JOB in there:
            known = json.loads(self.store.read(_JOB))
            if known != self._digest():
                raise ValueError(
                    f"{self.store.path} was started by another job, or with other data or parameters; "
                    "remove it or choose another name"
                )
            for name in sorted(there):
                if name.startswith(_DONE):
                    note = json.loads(self.store.read(name))
                    if note["entry"]["name"] in there:
                        self.add(Entry(**note["entry"]), note["schema"])
            return
        if there and any(not _ours(name) for name in there):
            raise ValueError(f"{self.store.path} is not empty; remove it or choose another name")
        for name in there:  # left by a writer that was killed
            self.store.remove(name)
        if self.job is not None:
            self.store.write(_JOB, json.dumps(self._digest()).encode())

    def _digest(self) -> str:
        return blake2b(json.dumps(self.job, sort_keys=True).encode(), digest_size=16).hexdigest()


def put_shard(
    store: Store, frame: "polars.DataFrame", query: str, number: int, *, note: bool
) -> tuple[Entry, dict[str, str]]:
    """Write a shard, and with `note` a file that describes it; gives its entry and its columns."""
    content, entry = encoded(frame, query, number)
    schema = {name: str(kind) for name, kind in frame.schema.items()}
    store.write(entry.name, content)
    if note:
        kept = json.dumps({"entry": asdict(entry), "schema": schema})
        store.write(f"{_DONE}{number:05d}.json", kept.encode())
    return entry, schema


def _features(schema: dict[str, str]) -> dict[str, Any]:
    """Which columns are features, and whether they are named: `to_frame` numbers those that are not."""
    names = [name for name in schema if name not in _ROLES]
    return {"features": names, "named": names != [f"f{j}" for j in range(1, len(names) + 1)]}


def _empty(schema: dict[str, str]) -> "polars.DataFrame":
    import polars

    return polars.DataFrame(schema={name: getattr(polars, kind) for name, kind in schema.items()})


def _ours(name: str) -> bool:
    return name.startswith(("shard-", _DONE, ".shard-", ".manifest")) or name == _JOB
