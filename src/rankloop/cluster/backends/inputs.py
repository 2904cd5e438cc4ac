"""The inputs of jobs: shards, and rankers as bytes."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from rankloop.data.shards.shards import Shards, open_shards

__all__ = ["each", "identity", "ranker_bytes", "ranker_of", "shards_of"]


def shards_of(given: Shards | str | Path, kind: str) -> Shards:
    """The shards, opened, which must be of one kind and not empty."""
    if not isinstance(given, Shards | str | Path):
        raise ValueError(
            f"jobs work on shards: pass what write_shards() gave, or its folder; got {type(given).__name__}"
        )
    found = given if isinstance(given, Shards) else open_shards(given)
    if found.kind != kind:
        raise ValueError(f"this job needs shards of {kind}, and {found.path} holds {found.kind}")
    if found.n_rows == 0:
        raise ValueError(f"{found.path} has no rows; there is nothing to do")
    return found


def each(shards: Shards) -> list[Shards]:
    """The shards that have rows, one by one, as tasks get them."""
    return [shards.select([i]) for i, entry in enumerate(shards.entries) if entry.rows]


def identity(shards: Shards) -> list[Any]:
    """Values that differ for other shards."""
    return [shards.fingerprint, [entry.number for entry in shards.entries]]


def ranker_bytes(ranking: Any) -> bytes:
    """A ranker as the bytes of its file, which gives the same scores in every process."""
    from rankloop.rankers.base.ranker import Ranker
    from rankloop.rankers.saving.load import dumps

    if isinstance(ranking, str | Path):
        path = Path(ranking)
        if not path.is_file():
            raise FileNotFoundError(f"there is no model file {path}")
        return path.read_bytes()
    if not isinstance(ranking, Ranker):
        raise ValueError(
            f"a job takes a ranker, or the file of one, because the workers compute its scores; got "
            f"{type(ranking).__name__}"
        )
    return dumps(ranking)


@lru_cache(maxsize=2)
def ranker_of(whole: bytes) -> Any:
    """The ranker of these bytes, read once in a process."""
    from rankloop.rankers.saving.load import loads

    return loads(whole)
