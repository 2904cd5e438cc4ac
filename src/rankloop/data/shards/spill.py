"""Rows on their way to their shards: held in memory up to a limit, then written to a file."""

import errno
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop._arrays import Array, Ints
from rankloop.data.shards.shard_of import shard_of

if TYPE_CHECKING:
    import polars

__all__ = ["Spill"]


class Spill:
    """`add` frames in any order, then take each shard's rows, in the order they came, with `frame`.

    Each frame is sorted by shard, so a shard is a slice of it. When memory is full, all slices are appended
    to one file, shard after shard: a shard has one piece there for each time that memory was full.
    """

    def __init__(self, folder: Path, shards: int, memory: int) -> None:
        self.path, self.shards, self.memory = folder / "rows.arrow", shards, memory
        self.held: list[tuple[polars.DataFrame, Ints]] = []  # by shard, and where each begins
        self.pieces: list[list[tuple[int, int]]] = [[] for _ in range(shards)]  # where in the file, and bytes
        self.size = self.rows = 0
        self.first: polars.DataFrame | None = None

    def add(self, frame: "polars.DataFrame", query: str) -> None:
        if query not in frame.columns:
            raise ValueError(f"every frame needs the column {query!r}, got {', '.join(frame.columns)}")
        if self.first is None:
            self.first = frame.clear()
        if frame.schema != self.first.schema:
            odd = set(frame.schema.items()) ^ set(self.first.schema.items())
            name = min((name for name, _ in odd), default="the order of columns")
            raise ValueError(f"frames differ in column {name!r}; give all the same columns and types")
        if frame[query].null_count():
            row = self.rows + int(frame[query].is_null().to_numpy().argmax())
            raise ValueError(f"column {query!r} is missing in row {row}; every row belongs to a query")
        self.rows += frame.height
        place = _places(frame[query], self.shards)
        starts = np.append(0, np.cumsum(np.bincount(place, minlength=self.shards)))
        self.held.append((frame[np.argsort(place, kind="stable")], starts))
        self.size += int(frame.estimated_size()) + starts.nbytes
        if self.size > self.memory:
            self._write_out()

    def frame(self, shard: int) -> "polars.DataFrame":
        """All rows of a shard."""
        import polars

        assert self.first is not None
        parts = [self.first]
        if self.pieces[shard]:
            with open(self.path, "rb") as file:
                for at, size in self.pieces[shard]:
                    file.seek(at)
                    parts.append(polars.read_ipc_stream(BytesIO(file.read(size))))
        return polars.concat([*parts, *self._held(shard)])

    def _held(self, shard: int) -> "list[polars.DataFrame]":
        spans = ((rows, int(starts[shard]), int(starts[shard + 1])) for rows, starts in self.held)
        return [rows[begin:end] for rows, begin, end in spans if begin < end]

    def _write_out(self) -> None:
        import polars

        try:
            with open(self.path, "ab", buffering=0) as file:
                for shard, pieces in enumerate(self.pieces):
                    if parts := self._held(shard):
                        at = file.tell()
                        polars.concat(parts).write_ipc_stream(file)
                        pieces.append((at, file.tell() - at))
        except OSError as error:
            if error.errno != errno.ENOSPC and "No space left" not in str(error):
                raise
            raise OSError(
                errno.ENOSPC,
                f"no disk space for temporary rows in {self.path.parent.parent}; free some, "
                "or name another folder with spill=",
            ) from error
        self.held, self.size = [], 0


def _places(queries: "polars.Series", shards: int) -> Array:
    """The shard of each row; rows of one query often follow each other, so each run is looked up once."""
    import polars

    runs = queries.rle().struct.unnest()
    ids = runs["value"].unique()
    kind = np.uint16 if shards <= 1 << 16 else np.int64  # numpy sorts short numbers by radix
    places = polars.DataFrame({"value": ids, "place": shard_of(ids, shards).astype(kind)})
    found = runs.join(places, on="value", how="left", maintain_order="left")
    return np.repeat(found["place"].to_numpy(), found["len"].to_numpy())
