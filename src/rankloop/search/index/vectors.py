"""Nearest vectors: an exact scan, or a graph in segments that are too big to scan."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankloop._arrays import Bytes, Floats, Ints, Singles
from rankloop._atomic import replacing
from rankloop._extras import require
from rankloop.search.field import Field
from rankloop.search.index.best import best_first
from rankloop.search.index.segment import Segment
from rankloop.search.index.snapshot import Part, Snapshot, check_file

__all__ = ["build_graphs", "nearest", "similarities"]

GRAPH_FROM = 50_000  # vectors in a segment from which compact builds a graph: 0.5 ms, a scan takes 2.5


def nearest(
    snapshot: Snapshot, field: str, vector: Singles, k: int, allowed: list[Bytes]
) -> tuple[Ints, Floats]:
    """The k rows whose vectors are most similar to this one, and the similarities (cosine or dot product).

    Documents without a vector are never found; `allowed` marks the documents of each segment that may be.
    """
    rows, scores = [np.empty(0, np.int64)], [np.empty(0)]
    parts = {part.name: part for part in snapshot.manifest.parts}
    for segment, may in zip(snapshot.segments, allowed, strict=True):
        found = _from_graph(snapshot, parts[segment.name], field, vector, k, may)
        if found is None:
            found = _scanned(segment.arrays[f"vector.{field}"], vector, k, may)
        exact = _products(segment.arrays[f"vector.{field}"][found], vector)
        rows.append(found + segment.base)
        scores.append(exact)
    return best_first(np.concatenate(rows), np.concatenate(scores), k)


def similarities(snapshot: Snapshot, field: str, vector: Singles, rows: Ints) -> Floats:
    """The similarities of the vectors of rows to this one; nan for documents without one."""
    values = np.full(len(rows), np.nan)
    for segment, inside in snapshot.by_segment(rows):
        values[inside] = _products(segment.arrays[f"vector.{field}"][rows[inside] - segment.base], vector)
    return values


def build_graphs(segment: Segment, fields: Mapping[str, Field], folder: Path) -> tuple[tuple[str, str], ...]:
    """Graphs over the vectors of a big segment, written beside it: field and file name of each."""
    made = []
    for name, field in fields.items():
        if field.kind != "vector" or segment.documents < GRAPH_FROM:
            continue
        vectors = segment.arrays[f"vector.{name}"]
        known = np.flatnonzero(~np.isnan(vectors[:, 0]))
        if len(known) < GRAPH_FROM:
            continue
        file = f"{segment.path.stem}.{name}.usearch"
        graph = require("usearch.index", "search").Index(
            ndim=field.dimension, metric="ip", dtype="f32", connectivity=16, expansion_add=128
        )
        graph.add(known.astype(np.uint64), np.ascontiguousarray(vectors[known]))
        with replacing(folder / file) as beside:
            graph.save(str(beside))
        made.append((name, file))
    return tuple(made)


def _scanned(vectors: Singles, vector: Singles, k: int, may: Bytes) -> Ints:
    products = vectors @ vector
    products[(may == 0) | np.isnan(products)] = -np.inf
    found = np.arange(len(products)) if k >= len(products) else np.argpartition(-products, k - 1)[:k]
    return found[products[found] > -np.inf].astype(np.int64)


def _from_graph(
    snapshot: Snapshot, part: Part, field: str, vector: Singles, k: int, may: Bytes
) -> Ints | None:
    """Search for more until k of them are allowed; None if a scan is better."""
    graphs = {name: at for at, (name, _) in enumerate(part.graphs)}
    if field not in graphs:
        return None
    path = snapshot.folder / part.graphs[graphs[field]][1]
    key = ("graph", path.name)
    if key not in snapshot.cache:
        check_file(path, part.graph_sums[graphs[field]])
        snapshot.cache[key] = require("usearch.index", "search").Index.restore(str(path), view=True)
    graph: Any = snapshot.cache[key]
    wanted = k
    while wanted <= len(graph) // 4:
        graph.expansion_search = max(128, 2 * wanted)
        matches = graph.search(vector, wanted)
        keys = np.asarray(matches.keys, np.int64)
        found: Ints = keys[may[keys] == 1]
        if len(found) >= k:
            return found[:k]
        wanted *= 4
    return None


def _products(vectors: Singles, vector: Singles) -> Floats:
    return np.asarray(vectors.astype(np.float64) @ vector.astype(np.float64))
