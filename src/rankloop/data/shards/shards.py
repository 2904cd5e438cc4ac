"""Data larger than memory: a folder of shards, each of whole queries."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop._arrays import Array, Singles
from rankloop._atomic import replacing_folder
from rankloop.data.concat import concat
from rankloop.data.files.npy_stream import NpyStream, mapped
from rankloop.data.load_dataset import check_target, load_dataset, write_manifest
from rankloop.data.ranking_dataset import RankingDataset
from rankloop.data.shards.manifest import Entry, checked_frame, read_manifest
from rankloop.data.shards.store import Store, room

if TYPE_CHECKING:
    import polars

__all__ = ["Shards", "open_shards"]

_ROLES = ("docid", "item_weight", "position")


@dataclass(frozen=True, repr=False)
class Shards:
    """An opened shard folder; a shard is read and checked when it is used.

    All rows of a query are in one shard, chosen by its hash; rows are sorted by query; counts, columns and
    checksums equal those of the manifest. A shard for which this fails is refused by name. `kind` is
    "documents" (shards of a data set), "clicks" (of a log), "scores" or "cells".
    """

    path: str
    kind: str
    query: str
    schema: dict[str, str]
    features: tuple[str, ...]
    named: bool
    entries: tuple[Entry, ...]
    of: int  # shards of the whole folder, among which the hash of a query chooses
    labels: dict[str, int]
    ranges: dict[str, list[float]]
    fingerprint: str

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"Shards({self.kind}, {len(self)} shards, {self.n_queries:,} queries, {self.n_rows:,} rows)"

    @property
    def n_rows(self) -> int:
        return sum(entry.rows for entry in self.entries)

    @property
    def n_queries(self) -> int:
        return sum(entry.queries for entry in self.entries)

    @property
    def n_features(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[RankingDataset]:
        """The shards of a data set in turn, one in memory at a time."""
        return (self.dataset(i) for i in range(len(self)))

    def frame(self, index: int) -> "polars.DataFrame":
        """The rows of a shard, sorted by query."""
        entry = self.entries[index]
        frame: polars.DataFrame = checked_frame(Store(self.path), entry, self.query, self.schema, self.of)
        return frame

    def dataset(self, index: int) -> RankingDataset:
        """A shard as a data set; its queries are sorted by id."""
        if self.kind != "documents":
            raise ValueError(f"{self.path} holds {self.kind}, and only shards of documents are data sets")
        return self._dataset(self.frame(index))

    def _dataset(self, frame: "polars.DataFrame") -> RankingDataset:
        query = frame[self.query].to_numpy()
        query = query.astype(np.str_) if query.dtype.kind == "O" else query
        heads = np.flatnonzero(np.append(True, query[1:] != query[:-1])[: len(query)])
        X = frame.select(self.features).to_numpy(order="c") if self.features else np.empty((len(query), 0))
        optional = {name: _array(frame[name]) for name in _ROLES if name in self.schema}
        for name in ("query_text", "query_weight"):
            if name in self.schema:
                optional[name] = _array(frame[name])[heads]
        return RankingDataset._trusted(
            X=np.ascontiguousarray(X, np.float32),
            y=frame["label"].to_numpy().astype(np.float32),
            offsets=np.append(heads, len(query)).astype(np.int64),
            qid=query[heads],
            feature_names=self.features if self.named else None,
            **optional,
        )

    def select(self, indices: Sequence[int]) -> "Shards":
        """Some of the shards, in the order given."""
        return replace(self, entries=tuple(self.entries[i] for i in indices))

    def part(self, rank: int, count: int) -> "Shards":
        """The shards of one of `count` workers: every `count`-th of those with rows, from `rank` (0 on)."""
        filled = [i for i, entry in enumerate(self.entries) if entry.rows]
        return self.select(filled[rank::count])

    def whole(self, folder: str | Path | None = None) -> RankingDataset:
        """All shards as one data set: in memory, or written to a folder and memory-mapped.

        The folder is a saved data set without docids, made with one shard in memory at a time.
        """
        return _in_memory(self) if folder is None else _gathered(self, Path(folder))


def open_shards(path: str | Path, *, verify: bool = False) -> Shards:
    """Open what `write_shards` or a job wrote, on local disk or at any `fsspec` address.

    The manifest and the sizes of its files are checked at once; the rest when a shard is read, or at once
    with `verify`.

    >>> import tempfile
    >>> from rankloop.data import synthetic
    >>> from rankloop.data.shards.write_shards import write_shards
    >>> made = write_shards(synthetic(n_queries=20, seed=0), tempfile.mkdtemp() + "/set", shards=4)
    >>> open_shards(made.path, verify=True)
    Shards(documents, 4 shards, 20 queries, 345 rows)
    """
    store = Store(path)
    manifest = read_manifest(store)
    entries = tuple(Entry(**entry) for entry in manifest["shards"])
    found = Shards(
        path=store.path,
        kind=str(manifest["kind"]).removeprefix("rankloop.data.Shards."),
        query=manifest["query"],
        schema=manifest["schema"],
        features=tuple(manifest.get("features", ())),
        named=bool(manifest.get("named", False)),
        entries=entries,
        of=len(entries),
        labels=manifest["labels"],
        ranges=manifest["ranges"],
        fingerprint=manifest["fingerprint"],
    )
    if verify:
        for i in range(len(found)):
            found.frame(i)
    return found


def _array(column: "polars.Series") -> Array:
    values = column.to_numpy()
    return values.astype(np.str_) if values.dtype.kind == "O" else values


def _in_memory(shards: Shards) -> RankingDataset:
    """Features are copied to their final place, so that only one shard is in memory twice."""
    X = np.empty((shards.n_rows, shards.n_features), np.float32)
    rest, at = [], 0
    for part in shards:
        X[at : at + part.n_documents] = part.X
        at += part.n_documents
        rest.append(_with_features(part, np.empty((part.n_documents, 0), np.float32)))
    return _with_features(concat([part for part in rest if part.n_queries] or rest[:1]), X)


def _with_features(data: RankingDataset, X: Singles) -> RankingDataset:
    columns = {field.name: getattr(data, field.name) for field in fields(data)}
    return RankingDataset._trusted(**{**columns, "X": X})


def _gathered(shards: Shards, folder: Path) -> RankingDataset:
    """A saved data set, made one shard at a time."""
    rows = ("X", "y", "item_weight", "position")
    kinds = {"X": np.float32, "y": np.float32, "item_weight": np.float32, "position": np.int32}
    per_query: dict[str, list[Array]] = {"qid": [], "lengths": [], "query_text": [], "query_weight": []}
    check_target(folder)
    size = 4 * shards.n_rows * (shards.n_features + 1)
    with room(str(folder), size), replacing_folder(folder) as beside:
        with ExitStack() as open_files:
            streams = {
                name: open_files.enter_context(
                    NpyStream(beside / f"{name}.npy", kinds[name], shards.n_features if name == "X" else None)
                )
                for name in rows
                if name in ("X", "y") or name in shards.schema
            }
            for part in shards:
                if part.n_queries:
                    for name, stream in streams.items():
                        stream.append(getattr(part, name))
                    for name, values in per_query.items():
                        if getattr(part, name) is not None:
                            values.append(getattr(part, name))
        lengths = np.concatenate(per_query.pop("lengths"))
        columns = {name: np.concatenate(values) for name, values in per_query.items() if values}
        columns["offsets"] = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        for name, column in columns.items():
            np.save(beside / f"{name}.npy", column, allow_pickle=False)
        names = shards.features if shards.named else None
        columns |= {name: mapped(beside / f"{name}.npy") for name in streams}
        write_manifest(beside, RankingDataset._trusted(**columns, feature_names=names))
    return load_dataset(folder)
