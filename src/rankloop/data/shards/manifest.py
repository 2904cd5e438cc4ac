"""The manifest of a folder of shards, and the checks of a shard against it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

import rankloop
from rankloop.data.files.manifest import parse_manifest
from rankloop.data.shards.shard_of import shard_of
from rankloop.data.shards.store import Store

if TYPE_CHECKING:
    import polars

__all__ = ["FORMAT", "MANIFEST", "Entry", "checked_frame", "encoded", "merged", "read_manifest"]

FORMAT = 1
MANIFEST = "manifest.json"
GRADES = 100  # distinct labels that are counted; more are counted by their whole part
_AGAIN = "write the shards again"


@dataclass(frozen=True, slots=True)
class Entry:
    """One shard: its file, what is in it, and the checksum of its bytes."""

    name: str
    number: int
    rows: int
    queries: int
    bytes: int
    blake2b: str
    labels: dict[str, int]
    ranges: dict[str, list[float]]


def encoded(frame: "polars.DataFrame", query: str, number: int) -> tuple[bytes, Entry]:
    """A frame sorted by query as the bytes of a shard, and its entry."""
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=1)
    content = buffer.getvalue()
    digest = blake2b(content, digest_size=16).hexdigest()
    graded = next((name for name in ("label", "click") if name in frame.columns), None)
    return content, Entry(
        name=f"shard-{number:05d}-{digest[:12]}.parquet",
        number=number,
        rows=frame.height,
        queries=int(frame[query].n_unique()) if frame.height else 0,
        bytes=len(content),
        blake2b=digest,
        labels={} if graded is None else _histogram(frame[graded]),
        ranges=_ranges(frame),
    )


def merged(
    kind: str, query: str, schema: dict[str, str], entries: Sequence[Entry], about: dict[str, Any]
) -> dict[str, Any]:
    """The manifest of a folder; `about` holds the entries of its kind."""
    labels: dict[str, int] = {}
    for entry in entries:
        for grade, count in entry.labels.items():
            labels[grade] = labels.get(grade, 0) + count
    ranges: dict[str, list[float]] = {}
    for entry in entries:
        for name, (low, high) in entry.ranges.items():
            known = ranges.get(name, [low, high])
            ranges[name] = [min(known[0], low), max(known[1], high)]
    digest = blake2b(json.dumps([kind, query, schema, about]).encode(), digest_size=16)
    for entry in entries:
        digest.update(entry.blake2b.encode())
    return {
        "format": FORMAT,
        "kind": f"rankloop.data.Shards.{kind}",
        "rankloop": rankloop.__version__,
        "query": query,
        "hash": "blake2b-8 of the id as text, little-endian, modulo the number of shards",
        "rows": sum(entry.rows for entry in entries),
        "queries": sum(entry.queries for entry in entries),
        "schema": schema,
        "labels": dict(sorted(labels.items(), key=lambda one: float(one[0].partition(" ")[0]))),
        "ranges": ranges,
        "fingerprint": digest.hexdigest(),
        **about,
        "shards": [asdict(entry) for entry in entries],
    }


def read_manifest(store: Store) -> dict[str, Any]:
    """The manifest; the files that it names must exist with the right sizes."""
    sizes = store.sizes()
    if MANIFEST not in sizes:
        if not sizes:
            raise FileNotFoundError(f"there is no shard folder {store.path}; write_shards() makes one")
        raise ValueError(
            f"{store.path} has no {MANIFEST}: it is not a shard folder, or its writer has not finished; "
            "run the same job again to continue, or remove the folder"
        )
    where = store.where(MANIFEST)
    manifest = parse_manifest(
        store.read(MANIFEST),
        where,
        "shard folder",
        kind="rankloop.data.Shards.",
        format=FORMAT,
        fields={"shards": list, "schema": dict, "query": str, "fingerprint": str},
        again=_AGAIN,
    )
    for number, entry in enumerate(manifest["shards"]):
        if not isinstance(entry, dict) or entry.get("number") != number or "name" not in entry:
            raise ValueError(f"{where} does not name shard {number}; {_AGAIN}")
        if entry["name"] not in sizes:
            raise ValueError(f"{store.where(entry['name'])} is missing; copy it again, or {_AGAIN}")
        if sizes[entry["name"]] != entry["bytes"]:
            raise ValueError(
                f"{store.where(entry['name'])} has {sizes[entry['name']]} bytes where {entry['bytes']} were "
                f"written; it was cut short or changed, copy it again, or {_AGAIN}"
            )
    return manifest


def checked_frame(store: Store, entry: Entry, query: str, schema: dict[str, str], of: int) -> Any:
    """The rows of a shard, checked: bytes, columns, counts, order, whole queries."""
    import polars

    where = store.where(entry.name)
    content = store.read(entry.name)
    if blake2b(content, digest_size=16).hexdigest() != entry.blake2b:
        raise ValueError(f"{where} does not match its checksum: it was changed; copy it again, or {_AGAIN}")
    frame = polars.read_parquet(BytesIO(content))
    del content
    if {name: str(kind) for name, kind in frame.schema.items()} != schema:
        raise ValueError(f"{where} has other columns than in the manifest; {_AGAIN}")
    if frame.height != entry.rows:
        raise ValueError(f"{where} has {frame.height} rows, {entry.rows} in the manifest; {_AGAIN}")
    runs = frame[query].rle().struct.field("value")
    if len(runs) != entry.queries or not runs.is_sorted():
        raise ValueError(f"{where} is not sorted by {query}, so queries may be split; {_AGAIN}")
    stray = np.flatnonzero(shard_of(runs, of) != entry.number)
    if len(stray):
        raise ValueError(
            f"{where} holds query {runs[int(stray[0])]}, which belongs to another shard, so a query may be "
            f"split over two; {_AGAIN}"
        )
    return frame


def _histogram(column: "polars.Series") -> dict[str, int]:
    counted = column.value_counts()
    if counted.height > GRADES:
        whole = column.cast(float).floor().clip(0, GRADES)
        counted = whole.value_counts()
        return {f"{grade:g} and more": int(n) for grade, n in counted.iter_rows() if grade is not None}
    return {f"{float(grade):g}": int(n) for grade, n in counted.iter_rows() if grade is not None}


def _ranges(frame: "polars.DataFrame") -> dict[str, list[float]]:
    """Minimum and maximum of the numeric columns that have values."""
    found: dict[str, list[float]] = {}
    for column in frame.iter_columns():
        if column.dtype.is_numeric():
            low, high = column.min(), column.max()
            if isinstance(low, int | float) and isinstance(high, int | float) and isfinite(low + high):
                found[column.name] = [low, high]
    return found
