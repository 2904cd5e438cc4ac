"""Rows on their way to their shards: held up to a limit, then set aside in files."""

import errno
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.data._shard_manifest import shard_of

if TYPE_CHECKING:
    import polars

__all__ = ["Spill"]

_PLACE = "shard of the row"


class Spill:
    """`add` frames in any order, then take each shard's rows, in the order they came, with `frame`."""

    def __init__(self, folder: Path, shards: int, memory: int) -> None:
        self.folder, self.shards, self.memory = folder, shards, memory
        self.held: list[list[polars.DataFrame]] = [[] for _ in range(shards)]
        self.files: list[list[Path]] = [[] for _ in range(shards)]
        self.size = self.rows = 0
        self.first: polars.DataFrame | None = None

    def add(self, frame: "polars.DataFrame", query: str) -> None:
        import polars

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
        ids = frame[query].unique()
        places = polars.DataFrame({query: ids, _PLACE: shard_of(ids.to_list(), self.shards)})
        placed = frame.join(places, on=query, how="left", maintain_order="left")
        for (place,), part in placed.partition_by(_PLACE, as_dict=True, include_key=False).items():
            self.held[place].append(part)
        self.size += int(frame.estimated_size())
        if self.size > self.memory:
            self._set_aside()

    def frame(self, shard: int) -> "polars.DataFrame":
        """All rows of a shard; its files go."""
        import polars

        assert self.first is not None
        read = [polars.read_ipc(path) for path in self.files[shard]]
        parts, self.held[shard] = [self.first, *read, *self.held[shard]], []
        for path in self.files[shard]:
            path.unlink()
        return polars.concat(parts)

    def _set_aside(self) -> None:
        import polars

        for shard, parts in enumerate(self.held):
            if parts:
                path = self.folder / f"{shard:05d}-{len(self.files[shard]):05d}.arrow"
                try:
                    polars.concat(parts).write_ipc(path)
                except OSError as error:
                    if error.errno != errno.ENOSPC and "No space left" not in str(error):
                        raise
                    raise OSError(
                        errno.ENOSPC,
                        f"no room for rows on their way to their shards in {self.folder.parent}; free some, "
                        "or name a folder with room by spill=",
                    ) from error
                self.files[shard].append(path)
                self.held[shard] = []
        self.size = 0
