"""What a job may be given as shards, and how rankers travel."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from rankloop.data.shards.shards import Shards, open_shards

__all__ = ["each", "ranker_bytes", "ranker_of", "shards_of", "told"]


def shards_of(given: Shards | str | Path, kind: str) -> Shards:
    """Opened, and of the kind that the job is about."""
    if not isinstance(given, Shards | str | Path):
        raise ValueError(
            f"jobs work on shards: pass what write_shards() gave, or its folder; got {type(given).__name__}"
        )
    found = given if isinstance(given, Shards) else open_shards(given)
    if found.kind != kind:
        raise ValueError(f"this job is about shards of {kind}, and {found.path} holds {found.kind}")
    if found.n_rows == 0:
        raise ValueError(f"{found.path} has no rows; there is nothing to do")
    return found


def each(shards: Shards) -> list[Shards]:
    """The shards that have rows, one by one: what a task is sent."""
    return [shards.select([i]) for i, entry in enumerate(shards.entries) if entry.rows]


def told(shards: Shards) -> list[Any]:
    """What tells these shards from others."""
    return [shards.fingerprint, [entry.number for entry in shards.entries]]


def ranker_bytes(ranking: Any) -> bytes:
    """A ranker as the bytes of its file: what it scores is the same in every process."""
    from rankloop.rankers.base.ranker import Ranker
    from rankloop.rankers.saving.load import dumps

    if isinstance(ranking, str | Path):
        path = Path(ranking)
        if not path.is_file():
            raise FileNotFoundError(f"there is no model file {path}")
        return path.read_bytes()
    if not isinstance(ranking, Ranker):
        raise ValueError(
            f"a job takes a ranker, or the file of one, as its scores are computed by the workers; got "
            f"{type(ranking).__name__}"
        )
    return dumps(ranking)


@lru_cache(maxsize=2)
def ranker_of(whole: bytes) -> Any:
    """The ranker of these bytes, read once in a process."""
    from rankloop.rankers.saving.load import loads

    return loads(whole)
